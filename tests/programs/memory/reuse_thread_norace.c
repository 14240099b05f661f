/* Threads allocate, use and free blocks of one size, without an edge between them. */
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
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    for (int i = 0; i < ROUNDS; i++)
        use(i);
}

int main(void)
{
    shared = malloc(SIZE);
    rb_both(first, second);
    free(shared);
    return 0;
}
