/* A thread makes a page inaccessible; what it does after that is not ordered with the handler of who runs
 * into it. */
#define _GNU_SOURCE
#include "../order.h"
#include <signal.h>
#include <sys/mman.h>

int data;
static volatile char *page;

static void handler(int number)
{
    (void)number;
    data = 2; /* RACE 2 */
    RB_CHECK(mprotect((void *)page, 4096, PROT_READ | PROT_WRITE) == 0);
}

static void first(void)
{
    RB_CHECK(mprotect((void *)page, 4096, PROT_NONE) == 0);
    data = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    rb_use(*page);
}

int main(void)
{
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    RB_CHECK(page != MAP_FAILED);
    signal(SIGSEGV, handler);
    return rb_both(first, second);
}
