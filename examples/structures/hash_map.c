// A hash map with striped locks: a stripe guards every STRIPES-th bucket, and the size is an atomic counter,
// so that two threads meet only in the same stripe. `transfer` holds two stripes, in the order of their
// numbers.
#include <stdatomic.h>

#include "common.h"

#define BUCKETS 32
#define STRIPES 4
#define KEYS    64

struct entry {
    int key, value;
    struct entry *next;
};

static struct entry *buckets[BUCKETS];
static pthread_mutex_t stripes[STRIPES];
static atomic_long size;

static int bucket_of(int key)
{
    return (int)((unsigned)key * 2654435761u >> 16) % BUCKETS;
}

static pthread_mutex_t *stripe_of(int key)
{
    return &stripes[bucket_of(key) % STRIPES];
}

// The link that points to the entry of `key`, or to NULL. With the stripe held.
static struct entry **link_to(int key)
{
    struct entry **link = &buckets[bucket_of(key)];

    while (*link && (*link)->key != key)
        link = &(*link)->next;
    return link;
}

static void add(int key, int value)
{
    pthread_mutex_lock(stripe_of(key));
    struct entry **link = link_to(key);
    if (!*link) {
        struct entry *new = malloc(sizeof(*new));
        if (!new)
            exit(2);
        *new = (struct entry){.key = key};
        *link = new;
        atomic_fetch_add(&size, 1);
    }
    (*link)->value += value;
    pthread_mutex_unlock(stripe_of(key));
}

// Takes the entry out; its value, or 0.
static int take(int key)
{
    int value = 0;

    pthread_mutex_lock(stripe_of(key));
    struct entry **link = link_to(key), *old = *link;
    if (old) {
        value = old->value;
        *link = old->next;
        atomic_fetch_sub(&size, 1);
    }
    pthread_mutex_unlock(stripe_of(key));
    free(old);
    return value;
}

static void transfer(int from, int to, int value)
{
    pthread_mutex_t *a = stripe_of(from), *b = stripe_of(to), *first = a < b ? a : b, *second = a < b ? b : a;

    pthread_mutex_lock(first);
    if (second != first)
        pthread_mutex_lock(second);
    struct entry *source = *link_to(from), *sink = *link_to(to);
    if (source && sink) {
        source->value -= value;
        sink->value += value;
    }
    if (second != first)
        pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

static void *work(void *argument)
{
    struct worker *w = argument;

    for (int i = 0; i < w->load->operations; i++) {
        const int what = draw(w, 6), key = draw(w, KEYS), value = draw(w, 100);
        if (what < 3) {
            add(key, value);
            w->added += value;
        } else if (what == 3) {
            w->removed += take(key);
        } else {
            transfer(key, draw(w, KEYS), value);
        }
        breathe(w);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const struct load load = load_of(argc, argv, (struct load){4, 50, 1});
    struct worker workers[MOST_THREADS];
    long left = 0, expected = 0, entries = 0;

    for (int i = 0; i < STRIPES; i++)
        pthread_mutex_init(&stripes[i], NULL);
    run_all(&load, workers, work);
    for (int i = 0; i < load.threads; i++)
        expected += workers[i].added - workers[i].removed;
    for (int i = 0; i < BUCKETS; i++)
        for (struct entry *e = buckets[i], *next; e; e = next, entries++) {
            next = e->next;
            left += e->value;
            free(e);
        }
    if (entries != atomic_load(&size)) {
        printf("hash_map: %ld entries, but a size of %ld\n", entries, atomic_load(&size));
        return 1;
    }
    return verdict("hash_map", left, expected, "is the sum of the values");
}
