/* memcpy, memset and memmove of a few bytes, their number known to the compiler, against plain accesses. */
#include "../order.h"
#include <string.h>

struct words {
    long low, high;
};

RB_APART struct words source, copied, cleared, moved, target;
#define WORD low

static void first(void)
{
    source.WORD = 1;             /* RACE 1 */
    memcpy(&copied, &target, 8); /* RACE 3 */
    memset(&cleared, 0, 8);      /* RACE 5 */
    memmove(&moved, &target, 8); /* RACE 7 */
    rb_reach(1);
}

static void second(void)
{
    long local;

    rb_await(1);
    memcpy(&local, &source, 8); /* RACE 2 */
    rb_use(local);
    rb_use(copied.WORD); /* RACE 4 */
    cleared.WORD = 1;    /* RACE 6 */
    rb_use(moved.WORD);  /* RACE 8 */
}

int main(void)
{
    return rb_both(first, second);
}
