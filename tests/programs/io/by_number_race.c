/*
 * System calls made by `syscall` read and write memory as those of libc do, and order nothing but what they
 * carry.
 */
#define _GNU_SOURCE
#include "../order.h"
#include <sys/syscall.h>
#include <time.h>

RB_APART int data;
RB_APART char from[8], to[8];
RB_APART struct timespec now;
int ends[2];

static void first(void)
{
    RB_CHECK(syscall(SYS_write, ends[1], "abcdefg", 8) == 8);
    data = 1;                                                                  /* RACE 1 */
    RB_CHECK(syscall(SYS_write, ends[1], from, sizeof(from)) == sizeof(from)); /* RACE 3 */
    RB_CHECK(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now) == 0);          /* RACE 5 */
    rb_reach(1);
    rb_await(2);
    to[0] = 'y'; /* RACE 8 */
}

static void second(void)
{
    rb_await(1);
    data = 2;                                                           /* RACE 2 */
    from[0] = 'x';                                                      /* RACE 4 */
    now.tv_sec = 1;                                                     /* RACE 6 */
    RB_CHECK(syscall(SYS_read, ends[0], to, sizeof(to)) == sizeof(to)); /* RACE 7 */
    rb_reach(2);
}

int main(void)
{
    RB_CHECK(syscall(SYS_pipe2, ends, 0) == 0);
    rb_escape(&data);
    return rb_both(first, second);
}
