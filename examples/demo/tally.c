// Four clerks count parcels into one ledger. Each takes the lock to write down the weight; one line forgets it.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct ledger {
    pthread_mutex_t mutex;
    long weight;  // under the mutex
    long parcels; // should be
};

static void weigh(struct ledger *l, long grams)
{
    pthread_mutex_lock(&l->mutex);
    l->weight += grams;
    pthread_mutex_unlock(&l->mutex);
    l->parcels++; // outside the lock
}

static void *clerk(void *ledger)
{
    for (long i = 0; i < 1000; i++)
        weigh(ledger, i % 500);
    return NULL;
}

int main(void)
{
    struct ledger *l = calloc(1, sizeof(*l));
    pthread_t clerks[4];

    pthread_mutex_init(&l->mutex, NULL);
    for (int i = 0; i < 4; i++)
        pthread_create(&clerks[i], NULL, clerk, l);
    for (int i = 0; i < 4; i++)
        pthread_join(clerks[i], NULL);
    printf("%ld parcels, %ld grams\n", l->parcels, l->weight);
    free(l);
    return 0;
}
