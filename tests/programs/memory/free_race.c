/* A block is freed although nothing orders that after another thread's last use of it. */
#include "../order.h"

char *block;

static void first(void)
{
    block[40] = 1; /* RACE 1 */
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
    block = malloc(100);
    return rb_both(first, second);
}
