// Buffers come from a pool under a lock, are filled, checked and given back. Races: some are still written to
// after that.
#include "detect.h"

enum { WORDS = 128, BUFFERS = THREADS + 2 };
struct buffer {
    struct buffer *next;
    unsigned word[WORDS];
    unsigned racy_trailer;
};
static struct {
    pthread_mutex_t mutex;
    struct buffer *first, *last;
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static long rounds;

static struct buffer *take(void)
{
    pthread_mutex_lock(&pool.mutex);
    struct buffer *b = pool.first;
    pool.first = b->next;
    if (!pool.first)
        pool.last = NULL;
    pthread_mutex_unlock(&pool.mutex);
    return b;
}

static void give(struct buffer *b)
{
    pthread_mutex_lock(&pool.mutex);
    b->next = NULL;
    if (pool.last)
        pool.last->next = b;
    else
        pool.first = b;
    pool.last = b;
    pthread_mutex_unlock(&pool.mutex);
}

static unsigned fill(struct buffer *b, unsigned *random, int late)
{
    unsigned sum = 0;

    for (int i = 0; i < WORDS; i++)
        b->word[i] = draw(random);
    for (int i = 0; i < WORDS; i++)
        sum = sum * 31 + b->word[i];
    if (!late)
        b->racy_trailer = sum;
    return sum;
}

static void finish(struct buffer *b, unsigned sum)
{
    b->racy_trailer = sum;
}

static void *body(void *number)
{
    const long me = (long)number;
    unsigned random = seed_of(me), all = 0;
    struct buffer *owed = NULL; // given back, and not finished
    unsigned owed_sum = 0;

    for (long i = 0; i < rounds; i++) {
        struct buffer *b = take();
        const int late = is_due(me, i, rounds);
        const unsigned sum = fill(b, &random, late);
        think(rounds);
        all += sum;
        if (owed)
            finish(owed, owed_sum);
        owed = late ? b : NULL;
        owed_sum = sum;
        if (late)
            together(THREADS);
        give(b);
    }
    expect(all != 0, "buffers were filled");
    return NULL;
}

int main(void)
{
    int count = 0;

    rounds = work(110000) / THREADS;
    for (int i = 0; i < BUFFERS; i++)
        give(calloc(1, sizeof(struct buffer)));
    crew(THREADS, body);
    for (struct buffer *b = pool.first; b; b = b->next)
        count++;
    expect(count == BUFFERS, "all buffers came back");
    return 0;
}
