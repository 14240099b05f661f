/*
 * A lock that assembly takes and a volatile store releases, as in PostgreSQL. The second thread writes before it takes
 * it.
 */
#include "../order.h"

static volatile unsigned char lock;
int RB_APART data;

static int try_lock(void)
{
    unsigned char was = 1;

    __asm__ volatile("lock; xchgb %0, %1" : "+q"(was), "+m"(lock) : : "memory", "cc");
    return was;
}

static void take(void)
{
    while (try_lock())
        continue;
}

static void drop(void)
{
    __asm__ volatile("" : : : "memory");
    lock = 0;
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
