/*
 * A read-write lock of assembly, whose writer waits with volatile loads until the readers have left, as in haproxy.
 */
#include "../order.h"

enum { WRITER = 1 << 16 };
static unsigned lock;
int RB_APART data;

static unsigned add(unsigned value)
{
    __asm__ volatile("lock xaddl %0, %1" : "+r"(value), "+m"(lock) : : "memory", "cc");
    return value;
}

static void first(void)
{
    RB_CHECK(add(1) == 0); /* a reader */
    rb_reach(1);
    rb_await(2);
    rb_use(data);
    add(-1);
    rb_reach(3);
}

static void second(void)
{
    rb_await(1);
    RB_CHECK(add(WRITER) == 1);
    rb_reach(2);
    rb_await(3);
    while (*(volatile unsigned *)&lock != WRITER)
        continue;
    data = 2;
    add(-WRITER);
}

int main(void)
{
    return rb_both(first, second);
}
