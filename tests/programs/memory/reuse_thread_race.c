/* A thread allocates, uses and hands on a block; another uses it without an edge between. */
#include "../order.h"

enum { ROUNDS = 50, SIZE = 2048 };
char *shared;

static void use(int round)
{
    char *block = malloc(SIZE);

    for (int i = 0; i < SIZE; i += 64)
        block[i] = (char)round;
    rb_escape(block);
    free(block);
}

static void first(void)
{
    for (int i = 0; i < ROUNDS; i++)
        use(i);
    shared[0] = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    for (int i = 0; i < ROUNDS; i++)
        use(i);
    shared[0] = 2; /* RACE 2 */
}

int main(void)
{
    shared = malloc(SIZE);
    rb_both(first, second);
    free(shared);
    return 0;
}
