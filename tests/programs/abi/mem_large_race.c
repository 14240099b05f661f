/* memcpy, memset and memmove of thousands of bytes; another thread touches their last byte. */
#include "../order.h"
#include <string.h>

enum { SIZE = 5000 };
RB_APART char source[SIZE + 8], copied[SIZE + 8], cleared[SIZE + 8], moved[SIZE + 8];
size_t last = SIZE - 1;
size_t size = SIZE;

static void first(void)
{
    source[last] = 1;            /* RACE 1 */
    memcpy(copied, moved, size); /* RACE 3 */
    memset(cleared, 0, size);    /* RACE 5 */
    memmove(moved, moved + 1, size - 1);
    memmove(moved + 1, moved, size - 1); /* RACE 7 */
    rb_reach(1);
}

static void second(void)
{
    static char local[SIZE];

    rb_await(1);
    memcpy(local, source, size); /* RACE 2 */
    rb_escape(local);
    rb_use(copied[last]); /* RACE 4 */
    cleared[last] = 1;    /* RACE 6 */
    rb_use(moved[last]);  /* RACE 8 */
}

int main(void)
{
    return rb_both(first, second);
}
