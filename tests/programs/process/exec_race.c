/* The program executes itself, and the new image races. */
#include "../order.h"
#include <string.h>

int data;

static void first(void)
{
    data = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    data = 2; /* RACE 2 */
}

static void idle(void)
{
    rb_reach(1);
    rb_await(2);
}

int main(int count, char **arguments)
{
    if (count == 1) {
        char *again[] = {arguments[0], "again", NULL};

        rb_start(idle);
        rb_await(1);
        execv("/proc/self/exe", again);
        return 3;
    }
    return rb_both(first, second);
}
