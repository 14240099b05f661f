/* System calls made by `syscall` order as those of libc do: what comes out of a pipe was written before. */
#define _GNU_SOURCE
#include "../order.h"
#include <sys/syscall.h>

RB_APART int data;
RB_APART char from[8], to[8];
int ends[2];

static void first(void)
{
    data = 1;
    from[0] = 'x';
    RB_CHECK(syscall(SYS_write, ends[1], from, sizeof(from)) == sizeof(from));
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    RB_CHECK(syscall(SYS_read, ends[0], to, sizeof(to)) == sizeof(to));
    data = 2;
    from[0] = to[0];
}

int main(void)
{
    RB_CHECK(syscall(SYS_pipe2, ends, 0) == 0);
    rb_escape(from);
    return rb_both(first, second);
}
