/* Eight bytes of one word, one a thread; the last thread writes the first one's bytes: two races in one word. */
#include "../order.h"

_Alignas(8) char bytes[8];

static void first(void)
{
    bytes[0] = 1; /* RACE 1 */
    bytes[3] = 1; /* RACE 3 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    bytes[1] = 1;
    bytes[4] = 1;
    rb_reach(2);
}

static void third(void)
{
    rb_await(2);
    bytes[2] = 1;
    bytes[0] = 1; /* RACE 2 */
    bytes[3] = 1; /* RACE 4 */
}

int main(void)
{
    return rb_three(first, second, third);
}
