/* After jumps out of deep calls, the stack of an access is still its own. */
#include "../order.h"
#include <setjmp.h>

int data;

__attribute__((noinline)) static void dive(jmp_buf back, int depth)
{
    if (depth == 0)
        longjmp(back, 1);
    dive(back, depth - 1);
    rb_escape(back);
}

static void jump(int times)
{
    for (volatile int i = 0; i < times; i++) {
        jmp_buf back;

        if (setjmp(back) == 0)
            dive(back, 20);
    }
}

__attribute__((noinline)) static void write_it(int value)
{
    data = value; /* RACE 1 RACE 2 */
    rb_escape(&data);
}

static void first(void)
{
    jump(50);
    write_it(1); /* CALL 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    jump(50);
    write_it(2); /* CALL 2 */
    rb_escape(&data);
}

int main(void)
{
    return rb_both(first, second);
}
