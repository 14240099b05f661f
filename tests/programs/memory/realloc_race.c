/* A block is moved by realloc although nothing orders that after another thread's last use of it. */
#include "../order.h"

enum { SMALL = 100, LARGE = 100000 };
char *block;

static void first(void)
{
    block[40] = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    block = realloc(block, LARGE); /* RACE 2 */
    block[LARGE - 1] = 1;
}

int main(void)
{
    block = malloc(SMALL);
    rb_both(first, second);
    free(block);
    return 0;
}
