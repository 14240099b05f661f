/*
 * A ticket lock in one word of 32 bits: tickets are drawn by a locked addition to the whole, and the upper half is
 * looked at and counted up alone. The second thread writes before it holds the lock.
 */
#include "../order.h"

static union {
    unsigned whole;
    struct {
        unsigned short next, serving; /* the half that is written apart is not at the word's own address */
    } half;
} lock;
int RB_APART data;

static unsigned short serving(void)
{
    unsigned short now;

    __asm__ volatile("movw %1, %0" : "=r"(now) : "m"(lock.half.serving) : "memory");
    return now;
}

static void take(void)
{
    unsigned ticket = 1;

    __asm__ volatile("lock; xaddl %0, %1" : "+r"(ticket), "+m"(lock.whole) : : "memory", "cc");
    while (serving() != (unsigned short)ticket)
        __asm__ volatile("pause");
}

static void drop(void)
{
    __asm__ volatile("incw %0" : "+m"(lock.half.serving) : : "memory", "cc");
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
