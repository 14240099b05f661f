/* An atomic operation faults, and its handler jumps out: what others do meanwhile is not ordered with the
 * thread, which goes on to be watched. */
#define _GNU_SOURCE
#include "../order.h"
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

int data;
static _Atomic int *word;
static sigjmp_buf back;

static void handler(int number)
{
    (void)number;
    RB_CHECK(mprotect((void *)word, 4096, PROT_READ | PROT_WRITE) == 0);
    siglongjmp(back, 1);
}

static void first(void)
{
    RB_CHECK(mprotect((void *)word, 4096, PROT_NONE) == 0);
    if (sigsetjmp(back, 1) == 0)
        atomic_fetch_add(word, 2);
    rb_escape(&back);
    atomic_fetch_add(word, 2);
    data = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    atomic_fetch_add(word, 2);
    data = 2; /* RACE 2 */
}

int main(void)
{
    word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    RB_CHECK(word != MAP_FAILED);
    signal(SIGSEGV, handler);
    return rb_both(first, second);
}
