/* A block is freed by one thread, and the next to allocate has it again: new memory, whatever its past. */
#include "../order.h"

RB_APART char *small, *large;
enum { SMALL = 64, LARGE = 1 << 20 };

static void child(void)
{
    small[8] = 1;
    large[LARGE / 2] = 1;
    free(small);
    free(large);
    rb_reach(1);
}

int main(void)
{
    char *mine[2];
    pthread_t thread;

    small = malloc(SMALL);
    large = malloc(LARGE);
    mine[0] = small;
    mine[1] = large;
    thread = rb_start(child);
    rb_await(1);
    mine[0] = malloc(SMALL);
    mine[1] = malloc(LARGE); /* was a mapping of its own: the same address again */
    mine[0][8] = 2;
    mine[1][LARGE / 2] = 2;
    pthread_join(thread, NULL);
    free(mine[0]);
    free(mine[1]);
    return rb_done();
}
