/*
 * Data written after the flag that assembly stores and loads.
 */
#include "../order.h"

static int flag;
int RB_APART data;

static void set_flag(void)
{
    __asm__ volatile("movl %1, %0" : "=m"(flag) : "r"(1) : "memory");
}

static int get_flag(void)
{
    int now;

    __asm__ volatile("movl %1, %0" : "=r"(now) : "m"(flag) : "memory");
    return now;
}

static void first(void)
{
    set_flag();
    data = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    RB_CHECK(get_flag() == 1);
    data = 2; /* RACE 2 */
}

int main(void)
{
    return rb_both(first, second);
}
