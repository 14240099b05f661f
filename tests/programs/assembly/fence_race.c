/*
 * A message of relaxed atomics. The writer has a barrier for the compiler alone, where a fence would be.
 */
#include "../order.h"

static int message;
int RB_APART data;

static void first(void)
{
    __asm__ volatile("mfence" ::: "memory"); /* the first fence of a program forgets what was before */
    rb_reach(1);
    rb_await(2);
    data = 1; /* RACE 1 */
    __asm__ volatile("" ::: "memory");
    __atomic_store_n(&message, 1, __ATOMIC_RELAXED);
    rb_reach(3);
}

static void second(void)
{
    rb_await(1);
    rb_reach(2);
    rb_await(3);
    RB_CHECK(__atomic_load_n(&message, __ATOMIC_RELAXED) == 1);
    __asm__ volatile("lock; addl $0, -4(%%rsp)" : : : "memory", "cc");
    data = 2; /* RACE 2 */
}

int main(void)
{
    return rb_both(first, second);
}
