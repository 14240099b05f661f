// A pipeline: blocks of numbers go through four stages over bounded queues with conditions. stages [BLOCKS]
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { STAGES = 4, ROOM = 8, WORDS = 256 };
struct queue {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    long *block[ROOM];
    int first, count;
};
static struct queue queues[STAGES + 1];
static long blocks = 20000;

static void put(struct queue *q, long *block)
{
    pthread_mutex_lock(&q->mutex);
    while (q->count == ROOM)
        pthread_cond_wait(&q->changed, &q->mutex);
    q->block[(q->first + q->count++) % ROOM] = block;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->mutex);
}

static long *get(struct queue *q)
{
    pthread_mutex_lock(&q->mutex);
    while (q->count == 0)
        pthread_cond_wait(&q->changed, &q->mutex);
    long *block = q->block[q->first];
    q->first = (q->first + 1) % ROOM;
    q->count--;
    pthread_cond_broadcast(&q->changed);
    pthread_mutex_unlock(&q->mutex);
    return block;
}

static void *stage(void *number)
{
    const long n = (long)number;
    long *block;

    while ((block = get(&queues[n])) != NULL) {
        for (int i = 0; i < WORDS; i++)
            block[i] = block[i] * 3 + n;
        put(&queues[n + 1], block);
    }
    put(&queues[n + 1], NULL);
    return NULL;
}

static void *feed(void *unused)
{
    (void)unused;
    for (long b = 0; b < blocks; b++) {
        long *block = malloc(WORDS * sizeof(long));
        for (int i = 0; i < WORDS; i++)
            block[i] = b + i;
        put(&queues[0], block);
    }
    put(&queues[0], NULL);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t t[STAGES + 1];
    long sum = 0, *block;

    if (argc > 1)
        blocks = atol(argv[1]);
    for (int i = 0; i <= STAGES; i++) {
        pthread_mutex_init(&queues[i].mutex, NULL);
        pthread_cond_init(&queues[i].changed, NULL);
    }
    for (long i = 0; i < STAGES; i++)
        pthread_create(&t[i], NULL, stage, (void *)i);
    pthread_create(&t[STAGES], NULL, feed, NULL);
    while ((block = get(&queues[STAGES])) != NULL) {
        for (int i = 0; i < WORDS; i++)
            sum += block[i];
        free(block);
    }
    for (int i = 0; i <= STAGES; i++)
        pthread_join(t[i], NULL);
    printf("%ld\n", sum);
    return 0;
}
