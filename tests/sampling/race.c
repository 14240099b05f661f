/*
 * race once: two threads write x, once each, among many accesses of their own: one race, a pair of accesses,
 * each in a function that is called once. race often: one thread alone for long, then two that take turns,
 * each with a write of x in every turn. The order in time is always the same, and unseen.
 */
#include <string.h>

#include "../programs/order.h"

#define OWN   3000
#define ALONE 400000
#define TURNS 5000

static RB_APART long x;

static void own(long *place, long accesses)
{
    for (long i = 0; i < accesses; i++)
        place[i & 15] = i;
}

__attribute__((noinline)) static void first(void)
{
    x = 1;
}

__attribute__((noinline)) static void second(void)
{
    x = 2;
}

static void once_first(void)
{
    static long mine[16];

    own(mine, OWN);
    first();
    own(mine, OWN);
    rb_reach(1);
}

static void once_second(void)
{
    static long mine[16];

    rb_await(1);
    own(mine, OWN);
    second();
}

static void turns(int odd)
{
    static long mine[2][16];

    for (int i = 0; i < TURNS; i++) {
        rb_await(2 * i + odd);
        own(mine[odd], 20);
        x = i;
        rb_reach(2 * i + odd + 1);
    }
}

static void even_turns(void)
{
    turns(0);
}

static void odd_turns(void)
{
    turns(1);
}

int main(int count, char **words)
{
    static long mine[16];

    rb_escape(&x); // else writes that nobody reads would go
    if (count < 2 || !strcmp(words[1], "once"))
        return rb_both(once_first, once_second);
    own(mine, ALONE);
    return rb_both(even_turns, odd_turns);
}
