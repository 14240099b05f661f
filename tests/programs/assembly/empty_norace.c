/*
 * A flag behind assembly of one instruction, after which data is the reader's.
 */
#include "../order.h"

static int flag;
int RB_APART data;

static void first(void)
{
    data = 1;
    __asm__ volatile("lock; addl $1, %0" : "+m"(flag) : : "memory", "cc");
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    __asm__ volatile("lock; addl $1, %0" : "+m"(flag) : : "memory", "cc");
    data = 2;
}

int main(void)
{
    return rb_both(first, second);
}
