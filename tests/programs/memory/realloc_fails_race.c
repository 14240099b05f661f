/* A realloc that fails does not hide what is done to the block after it. */
#include "../order.h"

static int *block;
size_t too_much = (size_t)1 << 62;

static void first(void)
{
    int *volatile same = block;

    RB_CHECK(realloc(same, too_much) == NULL);
    block[3] = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    block[3] = 2; /* RACE 2 */
}

int main(void)
{
    block = calloc(10, sizeof(*block));
    return rb_both(first, second);
}
