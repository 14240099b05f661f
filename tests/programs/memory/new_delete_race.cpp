/* Objects are deleted although nothing orders that after another thread's last use of them. */
#include "../order.h"

RB_APART long *one, *several;

static void first()
{
    *one = 1;       /* RACE 1 */
    several[7] = 1; /* RACE 3 */
    rb_reach(1);
}

static void second()
{
    rb_await(1);
    delete one;       /* RACE 2 */
    delete[] several; /* RACE 4 */
    rb_escape(&one);
}

int main()
{
    one = new long(0);
    several = new long[8]();
    return rb_both(first, second);
}
