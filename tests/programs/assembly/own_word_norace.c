/*
 * Threads exchange one word by assembly.
 */
#include "../order.h"

static int RB_APART words[8];
int RB_APART data;

static void exchange(int *word)
{
    int value = 1;

    __asm__ volatile("xchgl %0, %1" : "+r"(value), "+m"(*word) : : "memory");
}

static void first(void)
{
    data = 1;
    exchange(&words[0]);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    exchange(&words[0]);
    data = 2;
}

int main(void)
{
    return rb_both(first, second);
}
