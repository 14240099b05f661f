// What the racy programs of this folder share: how often and when they do what they should not, their
// threads, and a meeting point that no detector sees.
//
// Names are the ground truth: every object that is raced for is called racy_*, so both lines of a true report
// say `racy_`. A line that is not raced for and says it as well is harmless; a racy line that does not say it
// would be taken for a false report. Where they are variables they are not static: gcc does not instrument
// those whose address stays in the file.
//
//   THREADS  of the crew
//   EVERY    rounds of a thread from one racy access to the next; 0: once in the run
//   FAR      0: all threads at the same round, and together when that is seldom; 1: spread over the run
//   SIZE     percent of the usual work
#ifndef DETECT_H
#define DETECT_H

#include <linux/futex.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef THREADS
#define THREADS 4
#endif
#ifndef EVERY
#define EVERY 1
#endif
#ifndef FAR
#define FAR 0
#endif
#ifndef SIZE
#define SIZE 100
#endif

#define MOST_THREADS 16
#define UNSEEN       __attribute__((unused, noinline, no_sanitize("thread"))) static
// Nothing is kept in registers over this: compilers may not turn a polled flag into a constant.
#define FORGET() __asm__ volatile("" : : : "memory")

static inline unsigned draw(unsigned *state)
{
    unsigned x = *state;

    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return *state = x;
}

static inline unsigned seed_of(long me)
{
    return 2463534242u + 7919u * (unsigned)me;
}

// Is it the turn of thread `me` in round i of `rounds`?
static inline int is_due(long me, long i, long rounds)
{
    if (EVERY == 0)
        return i == (FAR ? rounds * (me + 1) / (THREADS + 1) : rounds / 2);
    const long every = EVERY ? EVERY : 1;
    return (i + (FAR ? me * every / THREADS : 0)) % every == every / 2;
}

// Work in registers, between the accesses of a round: a hundred and sixty million steps in all threads together.
static inline void think(long rounds)
{
    unsigned x = 1;

    for (long i = 1600000L * SIZE / THREADS / rounds; i > 0; i--)
        __asm__ volatile("imul $1664525, %0, %0\n\tadd $12345, %0" : "+r"(x));
}

// Returns when `count` threads have come. Orders them in time, but no detector knows.
UNSEEN void meet(int count)
{
    static int arrived, round;
    const int now = __atomic_load_n(&round, __ATOMIC_SEQ_CST);

    if (__atomic_add_fetch(&arrived, 1, __ATOMIC_SEQ_CST) == count) {
        __atomic_store_n(&arrived, 0, __ATOMIC_SEQ_CST);
        __atomic_add_fetch(&round, 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, &round, FUTEX_WAKE_PRIVATE, 1 << 30, NULL, NULL, 0);
        return;
    }
    while (__atomic_load_n(&round, __ATOMIC_SEQ_CST) == now)
        syscall(SYS_futex, &round, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
}

// Before a seldom racy access of all threads of the crew, who have the same number of them.
static inline void together(int count)
{
    if (!FAR && (EVERY == 0 || EVERY >= 1024))
        meet(count);
}

static inline void crew(int count, void *(*body)(void *))
{
    pthread_t thread[MOST_THREADS];

    for (long i = 0; i < count; i++)
        if (pthread_create(&thread[i], NULL, body, (void *)i))
            exit(3);
    for (int i = 0; i < count; i++)
        pthread_join(thread[i], NULL);
}

static inline void expect(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "failed: %s\n", what);
    exit(3);
}

static inline long work(long rounds)
{
    return rounds * SIZE / 100;
}

#endif
