/*
 * Accesses that fault, and whose handler jumps away, have not happened: stores, loads and copies to and from a page that
 * nobody may use. What the threads write afterwards does race.
 */
#include "../order.h"
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

int data;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char *page;
static __thread sigjmp_buf before;
static __thread int faults;

static void on_fault(int number)
{
    (void)number;
    faults++;
    siglongjmp(before, 1);
}

static void fault(void)
{
    char block[64] = "";

    for (volatile int i = 0; i < 100; i++) {
        rb_escape(block);
        if (sigsetjmp(before, 1))
            continue;
        switch (i % 4) {
        case 0:
            *(volatile int *)(page + 8) = 1;
            break;
        case 1:
            rb_use(*(volatile int *)(page + 8));
            break;
        case 2:
            memcpy(page, block, sizeof(block));
            break;
        default:
            memcpy(block, page, sizeof(block));
        }
    }
    RB_CHECK(faults == 100);
}

static void first(void)
{
    fault();
    data = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    fault();
    data = 2; /* RACE 2 */
}

int main(void)
{
    struct sigaction action = {.sa_handler = on_fault};

    page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    RB_CHECK(page != MAP_FAILED && sigaction(SIGSEGV, &action, NULL) == 0);
    return rb_both(first, second);
}
