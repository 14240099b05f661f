/*
 * Assembly without an instruction hides a value from the compiler and orders nothing.
 */
#include "../order.h"

static int flag;
int RB_APART data;

static void first(void)
{
    data = 1; /* RACE 1 */
    __asm__ volatile("# %0" : "+m"(flag) : : "memory", "cc");
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    __asm__ volatile("# %0" : "+m"(flag) : : "memory", "cc");
    data = 2; /* RACE 2 */
}

int main(void)
{
    return rb_both(first, second);
}
