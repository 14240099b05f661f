// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks that one thread gives to a library, which passes them to another library, from which the other thread takes them.
// RACE: the producer writes to the last block once more.
#include "programs/order.h"
#include "unseen/library.h"
#include <sched.h>

#define BLOCKS 1000

int relay_push(struct quiet_queue *q, void *item);

static struct quiet_queue *queue;

static void *produce(void *unused)
{
    long *block = NULL;

    for (long i = 1; i <= BLOCKS; i++) {
        block = malloc(sizeof(*block));
        *block = i;
        while (!relay_push(queue, block))
            sched_yield();
    }
#ifdef RACE
    *block = 0;
#endif
    rb_reach(1);
    return unused;
}

static void *consume(void *unused)
{
    long sum = 0;

    for (long i = 1; i <= BLOCKS; i++) {
        long *block;
        while (!(block = quiet_pop(queue)))
            sched_yield();
        if (i == BLOCKS)
            rb_await(1);
        sum += *block;
        if (i < BLOCKS)
            free(block);
    }
    RB_CHECK(sum >= (long)BLOCKS * (BLOCKS - 1) / 2);
    return unused;
}

int main(void)
{
    pthread_t t[2];

    queue = quiet_queue_new();
    RB_CHECK(pthread_create(&t[0], NULL, produce, NULL) == 0 &&
             pthread_create(&t[1], NULL, consume, NULL) == 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    puts("done");
    return 0;
}
