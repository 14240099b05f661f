/*
 * A lock inside a structure. One way in has a pointer to the structure in a register, and the other an operand
 * in memory; a third has a pointer that no text follows. The second thread writes before it holds the lock.
 */
#include "../order.h"

static struct {
    long name[2];
    long lock;
} shared;
int RB_APART data;

static void take(void)
{
    char busy;

    do
        __asm__ volatile("lock; btsq $0, 16(%1)\n\tsetc %0" : "=q"(busy) : "r"(&shared) : "memory", "cc");
    while (busy);
}

static void drop(void)
{
    if (shared.name[0])
        __asm__ volatile("lock; andq $0, (%%rdi)" : : "D"(&shared.lock) : "memory", "cc");
    else
        __asm__ volatile("lock; btrq $0, %0" : "+m"(shared.lock) : : "cc", "memory");
}

static void first(void)
{
    take();
    data = 1; /* RACE 1 */
    shared.name[0] = 0;
    drop();
    take();
    shared.name[0] = 1;
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
