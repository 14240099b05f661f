/* Locks of files that are held to write, and then to read only: others who read come after the writing. */
#define _GNU_SOURCE 1
#include "../order.h"
#include <fcntl.h>
#include <sys/file.h>

int one, two;
RB_APART int data;
RB_APART int other;

static void set(int fd, short type)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_len = 1};

    RB_CHECK(fcntl(fd, F_OFD_SETLKW, &lock) == 0);
}

static void first(void)
{
    flock(one, LOCK_EX);
    data = 1;
    flock(one, LOCK_SH);
    set(one, F_WRLCK);
    other = 1;
    set(one, F_RDLCK);
    rb_reach(1);
    rb_await(2);
}

static void second(void)
{
    rb_await(1);
    flock(two, LOCK_SH);
    rb_use(data);
    set(two, F_RDLCK);
    rb_use(other);
    rb_reach(2);
}

int main(void)
{
    char name[] = "/tmp/railbird-locks-XXXXXX";

    one = mkstemp(name);
    two = open(name, O_RDWR);
    unlink(name);
    RB_CHECK(one >= 0 && two >= 0);
    return rb_both(first, second);
}
