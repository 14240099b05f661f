/*
 * A lock taken by assembly that jumps to a label when it fails, and that jumps when it succeeds. Both threads hold it.
 */
#include "../order.h"

static int lock;
int RB_APART data;
static __thread int tries;

static int try_once(void)
{
    __asm__ goto("lock; btsl $0, (%0)\n\tjc %l1" : : "r"(&lock) : "memory", "cc" : busy);
    return 1;
busy:
    return 0;
}

static int try_again(void)
{
    __asm__ goto("lock; btsl $0, (%0)\n\tjnc %l1" : : "r"(&lock) : "memory", "cc" : taken);
    return 0;
taken:
    return 1;
}

static void take(void)
{
    while (!(tries ? try_again() : try_once()))
        tries = 1;
}

static void drop(void)
{
    __asm__ volatile("movl $0, (%0)" : : "r"(&lock) : "memory");
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
    tries = 1;
    take();
    data = 2;
    drop();
}

int main(void)
{
    return rb_both(first, second);
}
