/*
 * Barriers on the heap, one a round: the thread that is told to destroys its barrier and frees it while the
 * other is on its way out, or makes a new one in its place. Each has written before the round what the other
 * reads after it; and the first writes once more after the last round.
 */
#include "../order.h"

enum { ROUNDS = 20000 };
pthread_barrier_t *barriers[ROUNDS];
int data[2][ROUNDS];
int last RB_APART;

static void meet(int self)
{
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_t *b = barriers[i];
        data[self][i] = i;
        const int told = pthread_barrier_wait(b);
        if (told) {
            pthread_barrier_destroy(b);
            if (i % 2)
                pthread_barrier_init(b, NULL, 3);
            free(b);
        }
        rb_use(data[!self][i]);
    }
}

static void first(void)
{
    meet(0);
    last = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    meet(1);
    rb_await(1);
    last = 2; /* RACE 2 */
}

int main(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        barriers[i] = malloc(sizeof(*barriers[i]));
        RB_CHECK(barriers[i] && pthread_barrier_init(barriers[i], NULL, 2) == 0);
    }
    return rb_both(first, second);
}
