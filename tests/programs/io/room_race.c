/* Room that was made says nothing of what its maker does later; and who writes where there always was room
 * comes after no reader. */
#include "../order.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

int ends[2], wide[2];
int RB_APART data, RB_APART other;

static void first(void)
{
    static char buffer[1 << 20];
    char byte;

    RB_CHECK(read(ends[0], buffer, sizeof(buffer)) > 0);
    data = 1; /* RACE 1 */
    rb_reach(1);
    rb_await(2);
    other = 1; /* RACE 3 */
    RB_CHECK(read(wide[0], &byte, 1) == 1);
    rb_reach(3);
}

static void second(void)
{
    rb_await(1);
    RB_CHECK(write(ends[1], "x", 1) == 1);
    data = 2; /* RACE 2 */
    rb_reach(2);
    rb_await(3);
    RB_CHECK(write(wide[1], "x", 1) == 1);
    other = 2; /* RACE 4 */
}

int main(void)
{
    RB_CHECK(pipe(ends) == 0 && fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
    while (write(ends[1], "x", 1) == 1)
        ;
    RB_CHECK(errno == EAGAIN && socketpair(AF_UNIX, SOCK_STREAM, 0, wide) == 0 &&
             write(wide[1], "x", 1) == 1);
    return rb_both(first, second);
}
