// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program on each of the allocators that take the place of malloc: blocks that a thread frees and another gets, blocks made
// in one thread and freed in another, and grown there. Their own locks and lists alone order an owner's last access before the
// next owner's first.
#include "planted.h"
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 200, BLOCKS = 64, THREADS = 3 };
static const size_t sizes[] = {16, 40, 200, 1000, 5000, 100000};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *exchanged[BLOCKS];

static void use(int thread)
{
    char *volatile own = malloc(100 + thread);
    free(own);
}

static size_t size_of(int i)
{
    return sizes[i % (sizeof sizes / sizeof *sizes)];
}

// Writes fresh blocks and frees them at once, so that threads get one another's memory.
static long churn(int round)
{
    char *own[BLOCKS];
    long sum = 0;
    for (int i = 0; i < BLOCKS; i++) {
        own[i] = malloc(size_of(i));
        memset(own[i], round, 16);
        own[i][size_of(i) - 1] = 1;
    }
    for (int i = 0; i < BLOCKS; i++) {
        sum += own[i][0] + own[i][size_of(i) - 1];
        free(own[i]);
    }
    return sum;
}

// Puts a block into a place and frees the block there, maybe another thread's.
static void exchange(int round)
{
    char *block = calloc(1, size_of(round));
    block[0] = 1;
    pthread_mutex_lock(&lock);
    char *old = exchanged[round % BLOCKS];
    exchanged[round % BLOCKS] = block;
    pthread_mutex_unlock(&lock);
    if (old) {
        old = realloc(old, 300);
        old[299] = old[0];
        free(old);
    }
}

static void *run(void *sum)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (i % 10 == 0)
            *(long *)sum += churn(i / 10);
        exchange(i);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    long sums[THREADS] = {0}, all = 0;
    planted_start(argc, argv, use);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, &sums[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        all += sums[i];
    }
    for (int i = 0; i < BLOCKS; i++)
        free(exchanged[i]);
    planted_end();
    printf("%ld\n", all);
    return 0;
}
