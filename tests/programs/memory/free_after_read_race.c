/* Freeing a block is like writing all of it: it races with a read as well. */
#include "../order.h"

char *block;

static void first(void)
{
    rb_use(block[99]); /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    free(block); /* RACE 2 */
    rb_escape(&block);
}

int main(void)
{
    block = calloc(1, 100);
    rb_both(first, second);
    return 0;
}
