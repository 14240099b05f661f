/* A handler jumps out to the interrupted code; the stack of a later access is its own. */
#include "../order.h"
#include <setjmp.h>
#include <signal.h>

int data;
static _Thread_local sigjmp_buf back;

static void handler(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static void jump(void)
{
    if (sigsetjmp(back, 1) == 0)
        raise(SIGUSR1);
    rb_escape(&back);
}

__attribute__((noinline)) static void write_it(int value)
{
    data = value; /* RACE 1 RACE 2 */
    rb_escape(&data);
}

static void first(void)
{
    for (volatile int i = 0; i < 20; i++)
        jump();
    write_it(1); /* CALL 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    jump();
    write_it(2); /* CALL 2 */
    rb_escape(&data);
}

int main(void)
{
    signal(SIGUSR1, handler);
    return rb_both(first, second);
}
