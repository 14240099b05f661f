/*
 * Assembly with a lock on a variable that no operand names: all such statements count as one object.
 */
#include "../order.h"

int hidden __attribute__((used));
int RB_APART data;

static void take(void)
{
    __asm__ volatile("1: lock; btsl $0, hidden(%%rip)\n\tjc 1b" : : : "memory", "cc");
}

static void drop(void)
{
    __asm__ volatile("lock; btrl $0, hidden(%%rip)" : : : "memory", "cc");
}

static void first(void)
{
    take();
    data = 1;
    drop();
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    take();
    data = 2;
    drop();
}

int main(void)
{
    return rb_both(first, second);
}
