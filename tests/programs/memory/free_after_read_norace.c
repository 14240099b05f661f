/* A block that two threads have read is freed after both were joined. */
#include "../order.h"

char *block;

static void first(void)
{
    rb_use(block[99]);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    rb_use(block[99]);
    rb_escape(&block);
}

int main(void)
{
    block = calloc(1, 100);
    rb_both(first, second);
    free(block);
    return 0;
}
