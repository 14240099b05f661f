// rwlocks SECONDS LOCKS [race]: for so much CPU time, threads that use read-write locks in every way there
// is, so often that most operations have nothing new to say, and hold several at once, so that what they
// remember of one makes room for another. A lock guards a word of the writers, which all may read under it,
// and a word of each reader, which writers read. With `race` some readers write the writers' word.
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu_time.h"

enum { THREADS = 6, MOST_LOCKS = 300, NESTED = 5 };

struct guarded {
    pthread_rwlock_t lock;
    long of_writers;
    long of_reader[THREADS];
};
static struct guarded guarded[MOST_LOCKS];
static unsigned locks;
static bool races;
static atomic_bool stop;
static atomic_long sink;

static unsigned draw(unsigned *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static void lock_to_read(struct guarded *g, bool tries)
{
    if (!tries || pthread_rwlock_tryrdlock(&g->lock))
        pthread_rwlock_rdlock(&g->lock);
}

static void lock_to_write(struct guarded *g, bool tries)
{
    if (!tries || pthread_rwlock_trywrlock(&g->lock))
        pthread_rwlock_wrlock(&g->lock);
}

static long as_reader(struct guarded *g, unsigned me, unsigned how)
{
    if (how & 1)
        g->of_reader[me]++;
    if (races && how % 64 == 3)
        g->of_writers++;
    return g->of_writers;
}

static long as_writer(struct guarded *g, unsigned how)
{
    long sum = 0;

    for (unsigned i = 0; i < THREADS; i++)
        sum += g->of_reader[i];
    if (how & 1)
        g->of_writers++;
    return sum;
}

// Nothing is said and nothing heard, again and again.
static void idly(struct guarded *g, unsigned how)
{
    for (unsigned i = 0; i < how % 16; i++) {
        if (i % 4 == 3)
            pthread_rwlock_wrlock(&g->lock);
        else
            pthread_rwlock_rdlock(&g->lock);
        pthread_rwlock_unlock(&g->lock);
    }
}

static void read_twice(struct guarded *g, unsigned me, unsigned how)
{
    lock_to_read(g, false);
    lock_to_read(g, false);
    as_reader(g, me, how);
    pthread_rwlock_unlock(&g->lock);
    as_reader(g, me, how >> 1);
    pthread_rwlock_unlock(&g->lock);
}

// As reader, as writer, and as reader again, each time with or without anything new.
static void in_turn(struct guarded *g, unsigned me, unsigned how)
{
    lock_to_read(g, false);
    if (how & 2)
        as_reader(g, me, how >> 2);
    pthread_rwlock_unlock(&g->lock);
    lock_to_write(g, false);
    if (how & 8)
        as_writer(g, how >> 4);
    pthread_rwlock_unlock(&g->lock);
    lock_to_read(g, false);
    if (how & 32)
        as_reader(g, me, how >> 6);
    pthread_rwlock_unlock(&g->lock);
}

// Locks are held in the order of their numbers.
static void several(unsigned first, unsigned me, unsigned how)
{
    const unsigned end = first + NESTED < locks ? first + NESTED : locks;

    for (unsigned i = first; i < end; i++) {
        if (how >> (i - first) & 1)
            lock_to_write(&guarded[i], false);
        else
            lock_to_read(&guarded[i], false);
    }
    for (unsigned i = first; i < end; i++) {
        if (how >> (i - first) & 1)
            as_writer(&guarded[i], how >> 8);
        else
            as_reader(&guarded[i], me, how >> 8);
    }
    for (unsigned i = first; i < end; i++)
        pthread_rwlock_unlock(&guarded[i].lock);
}

static void *body(void *number)
{
    const unsigned me = (unsigned)(long)number;
    unsigned random = 77777u + me;
    long sum = 0;

    for (unsigned round = 0; !atomic_load_explicit(&stop, memory_order_relaxed); round++) {
        const unsigned at = draw(&random) % locks, how = draw(&random);
        struct guarded *g = &guarded[at];
        switch (how >> 24 & 7) {
        case 0:
            lock_to_write(g, how >> 23 & 1);
            sum += as_writer(g, how);
            pthread_rwlock_unlock(&g->lock);
            break;
        case 1:
            several(at, me, how);
            break;
        case 2:
            read_twice(g, me, how);
            break;
        case 3:
            idly(g, how);
            break;
        case 4:
        case 5:
            in_turn(g, me, how);
            break;
        default:
            lock_to_read(g, how >> 23 & 1);
            sum += as_reader(g, me, how);
            pthread_rwlock_unlock(&g->lock);
            break;
        }
    }
    atomic_fetch_add(&sink, sum);
    return NULL;
}

int main(int count, char **word)
{
    const double seconds = count > 1 ? atof(word[1]) : 0.3;
    pthread_t thread[THREADS];

    locks = count > 2 ? (unsigned)atoi(word[2]) : 3;
    races = count > 3 && !strcmp(word[3], "race");
    if (locks < 1 || locks > MOST_LOCKS)
        return 2;
    for (unsigned i = 0; i < locks; i++)
        pthread_rwlock_init(&guarded[i].lock, NULL);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, body, (void *)i);
    await_cpu_seconds(seconds);
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
