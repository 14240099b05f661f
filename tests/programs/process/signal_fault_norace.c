/* An atomic operation faults: once the handler makes the page accessible and returns, once it jumps out. Both
 * times the atomic goes on to order what it did before. */
#define _GNU_SOURCE
#include "../order.h"
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

#define TIMES 10

int data;
static _Atomic int *word;
static sigjmp_buf back;
static volatile int jumps, faults;

static void handler(int number)
{
    (void)number;
    faults++;
    RB_CHECK(mprotect((void *)word, 4096, PROT_READ | PROT_WRITE) == 0);
    if (jumps)
        siglongjmp(back, 1);
}

static void add_and_fault(void)
{
    RB_CHECK(mprotect((void *)word, 4096, PROT_NONE) == 0);
    if (sigsetjmp(back, 1) == 0)
        atomic_fetch_add(word, 2);
    rb_escape(&back);
}

static void first(void)
{
    for (int i = 0; i < TIMES; i++) {
        jumps = i % 2;
        data = i;
        add_and_fault();
        atomic_fetch_or(word, 1);
        rb_reach(2 * i + 1);
        rb_await(2 * i + 2);
        RB_CHECK((atomic_load(word) & 1) == 0);
    }
    RB_CHECK(faults == TIMES);
}

static void second(void)
{
    for (int i = 0; i < TIMES; i++) {
        rb_await(2 * i + 1);
        RB_CHECK(atomic_load(word) & 1);
        data = -i;
        atomic_fetch_and(word, ~1);
        rb_reach(2 * i + 2);
    }
}

int main(void)
{
    word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    RB_CHECK(word != MAP_FAILED);
    signal(SIGSEGV, handler);
    return rb_both(first, second);
}
