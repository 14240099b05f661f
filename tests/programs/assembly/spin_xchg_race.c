/*
 * A spin lock taken by xchg, which has no prefix, and released by a plain move. The second thread writes before it
 * takes it.
 */
#include "../order.h"

static int lock;
int RB_APART data;

static void take(void)
{
    int was = 1;

    do
        __asm__ volatile("xchgl %0, %1" : "+r"(was), "+m"(lock) : : "memory");
    while (was);
}

static void drop(void)
{
    __asm__ volatile("movl $0, %0" : "=m"(lock) : : "memory");
}

static void first(void)
{
    take();
    data = 1; /* RACE 1 */
    drop();
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    data = 2; /* RACE 2 */
    take();
    drop();
}

int main(void)
{
    return rb_both(first, second);
}
