/* Two threads write one block that nobody has freed. */
#include "../order.h"

RB_APART char *small, *large;
enum { SMALL = 64, LARGE = 1 << 20 };

static void child(void)
{
    small[8] = 1;         /* RACE 1 */
    large[LARGE / 2] = 1; /* RACE 3 */
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
    mine[0][8] = 2;         /* RACE 2 */
    mine[1][LARGE / 2] = 2; /* RACE 4 */
    pthread_join(thread, NULL);
    free(mine[0]);
    free(mine[1]);
    return rb_done();
}
