/* Blocks of calloc, realloc, aligned_alloc, posix_memalign and reallocarray, written by two threads. */
#define _GNU_SOURCE
#include "../order.h"

char *blocks[5];

static void first(void)
{
    blocks[0][50] = 1; /* RACE 1 */
    blocks[1][50] = 1; /* RACE 3 */
    blocks[2][50] = 1; /* RACE 5 */
    blocks[3][50] = 1; /* RACE 7 */
    blocks[4][50] = 1; /* RACE 9 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    blocks[0][50] = 2; /* RACE 2 */
    blocks[1][50] = 2; /* RACE 4 */
    blocks[2][50] = 2; /* RACE 6 */
    blocks[3][50] = 2; /* RACE 8 */
    blocks[4][50] = 2; /* RACE 10 */
}

int main(void)
{
    void *aligned;

    blocks[0] = calloc(10, 10);
    blocks[1] = realloc(malloc(10), 100);
    blocks[2] = aligned_alloc(64, 128);
    RB_CHECK(posix_memalign(&aligned, 128, 100) == 0);
    blocks[3] = aligned;
    blocks[4] = reallocarray(NULL, 10, 10);
    RB_CHECK(((unsigned long)blocks[2] & 63) == 0 && ((unsigned long)blocks[3] & 127) == 0);
    rb_both(first, second);
    for (int i = 0; i < 5; i++)
        free(blocks[i]);
    return 0;
}
