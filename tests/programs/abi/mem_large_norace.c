/* memcpy, memset and memmove of thousands of bytes; another thread touches the byte behind their last. */
#include "../order.h"
#include <string.h>

enum { SIZE = 5000 };
RB_APART char source[SIZE + 8], copied[SIZE + 8], cleared[SIZE + 8], moved[SIZE + 8];
size_t last = SIZE;
size_t size = SIZE;

static void first(void)
{
    source[last] = 1;
    memcpy(copied, moved, size);
    memset(cleared, 0, size);
    memmove(moved, moved + 1, size - 1);
    memmove(moved + 1, moved, size - 1);
    rb_reach(1);
}

static void second(void)
{
    static char local[SIZE];

    rb_await(1);
    memcpy(local, source, size);
    rb_escape(local);
    rb_use(copied[last]);
    cleared[last] = 1;
    rb_use(moved[last]);
}

int main(void)
{
    return rb_both(first, second);
}
