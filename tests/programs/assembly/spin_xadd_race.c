/*
 * A spin lock of lock xadd, as haproxy has it. The second thread writes before it takes it.
 */
#include "../order.h"

static unsigned long lock;
int RB_APART data;

static unsigned long add(unsigned long *word, unsigned long value)
{
    __asm__ volatile("lock xaddq %0, %1" : "=r"(value), "+m"(*word) : "0"(value) : "memory", "cc");
    return value;
}

static void take(void)
{
    while (add(&lock, 1)) {
        add(&lock, -1UL);
        __asm__ volatile("rep; nop" ::: "memory");
    }
}

static void drop(void)
{
    add(&lock, -1UL);
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
