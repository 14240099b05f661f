// A hash table of counters, a lock for each bucket. Races: the statistics have none.
#include "detect.h"

enum { BUCKETS = 256, KEYS = 4096 };
struct entry {
    struct entry *next;
    unsigned key;
    long count;
};
struct bucket {
    pthread_mutex_t mutex;
    struct entry *first;
};
static struct bucket table[BUCKETS];
struct {
    long racy_lookups, racy_misses;
} stats;
static long rounds;

static struct entry *find(struct bucket *b, unsigned key)
{
    struct entry *e = b->first;

    while (e && e->key != key)
        e = e->next;
    return e;
}

static void note_lookup(void)
{
    stats.racy_lookups++;
}

static void note_miss(unsigned key)
{
    stats.racy_misses = (long)key;
}

static void count(unsigned key, int tell)
{
    struct bucket *b = &table[key % BUCKETS];

    pthread_mutex_lock(&b->mutex);
    struct entry *e = find(b, key);
    if (!e) {
        e = calloc(1, sizeof(*e));
        e->key = key;
        e->next = b->first;
        b->first = e;
    }
    e->count++;
    pthread_mutex_unlock(&b->mutex);
    if (tell) {
        together(THREADS);
        note_lookup();
        if (key % 8 == 0)
            note_miss(key);
    }
}

static void *body(void *number)
{
    const long me = (long)number;
    unsigned random = seed_of(me), *text = malloc(64 * sizeof(*text));

    for (long i = 0; i < rounds; i++) {
        think(rounds);
        unsigned key = 0;
        for (int j = 0; j < 64; j++)
            text[j] = draw(&random);
        FORGET();
        for (int j = 0; j < 64; j++)
            key = key * 31 + text[j];
        count(key % KEYS, is_due(me, i, rounds));
    }
    free(text);
    return NULL;
}

int main(void)
{
    long sum = 0;

    rounds = work(220000) / THREADS;
    for (int i = 0; i < BUCKETS; i++)
        pthread_mutex_init(&table[i].mutex, NULL);
    crew(THREADS, body);
    for (int i = 0; i < BUCKETS; i++)
        for (struct entry *e = table[i].first; e; e = e->next)
            sum += e->count;
    expect(sum == rounds * THREADS, "every key was counted");
    return 0;
}
