/* Copies of a pipe's ends, by dup, dup2 and dup3; written behind the transfer. */
#define _GNU_SOURCE
#include "../order.h"
#include <fcntl.h>

RB_APART int by_dup, by_dup2, by_dup3;
int ends[2], in[3], out[3];

static void put(int n)
{
    RB_CHECK(write(in[n], "x", 1) == 1);
}

static void get(int n)
{
    char byte;

    RB_CHECK(read(out[n], &byte, 1) == 1);
}

static void first(void)
{
    put(0);
    by_dup = 1; /* RACE 1 */
    rb_reach(1);
    rb_await(2);
    put(1);
    by_dup2 = 1; /* RACE 3 */
    rb_reach(3);
    rb_await(4);
    put(2);
    by_dup3 = 1; /* RACE 5 */
    rb_reach(5);
}

static void second(void)
{
    get(0);
    rb_await(1);
    by_dup = 2; /* RACE 2 */
    rb_reach(2);
    get(1);
    rb_await(3);
    by_dup2 = 2; /* RACE 4 */
    rb_reach(4);
    get(2);
    rb_await(5);
    by_dup3 = 2; /* RACE 6 */
}

int main(void)
{
    RB_CHECK(pipe(ends) == 0);
    in[0] = dup(ends[1]);
    out[0] = dup(ends[0]);
    in[1] = dup2(ends[1], 100);
    out[1] = dup2(ends[0], 101);
    in[2] = dup3(ends[1], 102, O_CLOEXEC);
    out[2] = dup3(ends[0], 103, O_CLOEXEC);
    RB_CHECK(in[0] >= 0 && out[0] >= 0 && in[2] == 102 && out[2] == 103);
    return rb_both(first, second);
}
