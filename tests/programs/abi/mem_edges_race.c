/* memcpy of bytes of which another thread writes the first and the last. */
#include "../order.h"
#include <string.h>

enum { SIZE = 5000 };
RB_APART char source[SIZE + 16], copied[SIZE + 16];
size_t size = SIZE;

static void first(void)
{
    source[3] = 1;        /* RACE 1 */
    copied[4 + SIZE] = 1; /* RACE 3 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    memcpy(copied + 5, source + 3, size); /* RACE 2 RACE 4 */
}

int main(void)
{
    return rb_both(first, second);
}
