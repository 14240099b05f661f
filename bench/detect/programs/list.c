// Threads sort batches of their own and put summaries on a shared list. Races: those that found nothing are
// pushed without the lock.
#include "detect.h"

enum { BATCH = 64 };
struct summary {
    struct summary *next;
    unsigned least, most;
};
struct {
    pthread_mutex_t mutex;
    struct summary *first;
    struct summary *racy_empty;
} found = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static long rounds;

static void sort(unsigned *a)
{
    for (int gap = BATCH / 2; gap; gap /= 2)
        for (int i = gap; i < BATCH; i++) {
            const unsigned x = a[i];
            int j = i;
            for (; j >= gap && a[j - gap] > x; j -= gap)
                a[j] = a[j - gap];
            a[j] = x;
        }
}

static void push(struct summary *s)
{
    pthread_mutex_lock(&found.mutex);
    s->next = found.first;
    found.first = s;
    pthread_mutex_unlock(&found.mutex);
}

static void push_empty(struct summary *s)
{
    s->next = found.racy_empty;
    found.racy_empty = s;
}

static void *body(void *number)
{
    const long me = (long)number;
    unsigned random = seed_of(me), *a = malloc(BATCH * sizeof(*a));

    for (long i = 0; i < rounds; i++) {
        think(rounds);
        for (int j = 0; j < BATCH; j++)
            a[j] = draw(&random);
        sort(a);
        expect(a[0] <= a[BATCH / 2] && a[BATCH / 2] <= a[BATCH - 1], "batches are sorted");
        if (is_due(me, i, rounds)) {
            struct summary *s = malloc(sizeof(*s));
            together(THREADS);
            push_empty(s);
        } else if (i % 512 == 0) {
            struct summary *s = malloc(sizeof(*s));
            *s = (struct summary){.least = a[0], .most = a[BATCH - 1]};
            push(s);
        }
    }
    free(a);
    return NULL;
}

int main(void)
{
    rounds = work(32000) / THREADS;
    crew(THREADS, body);
    return 0;
}
