// What the programs of this folder share: THREADS, OPERATIONS and SEED from the command line, a generator for
// each thread, and a function run by all of them. Nothing here is touched by two threads at once.
#ifndef COMMON_H
#define COMMON_H

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_THREADS 64

struct load {
    int threads, operations; // of each thread
    unsigned seed;
};

// A thread's own part; the program adds what it counts.
struct worker {
    const struct load *load;
    int number;
    uint64_t random;
    long added, removed, seen; // what the thread did, for the check at the end
};

static int number_of(const char *text, int low, int high, const char *what)
{
    char *end;
    const long value = strtol(text, &end, 10);

    if (end == text || *end || value < low || value > high) {
        fprintf(stderr, "%s '%s': expected a whole number from %d to %d\n", what, text, low, high);
        exit(2);
    }
    return (int)value;
}

static struct load load_of(int argc, char **argv, struct load load)
{
    if (argc > 1)
        load.threads = number_of(argv[1], 2, MOST_THREADS, "THREADS");
    if (argc > 2)
        load.operations = number_of(argv[2], 1, 1000000, "OPERATIONS");
    if (argc > 3)
        load.seed = (unsigned)number_of(argv[3], 0, 1000000000, "SEED");
    return load;
}

// 0 to below - 1.
static inline int draw(struct worker *w, int below)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (int)((w->random >> 33) % (uint64_t)below);
}

// Lets the others go on: small loads on few cores would otherwise run one thread after the other.
static inline void breathe(struct worker *w)
{
    if (draw(w, 3) == 0)
        sched_yield();
}

static inline void run_all(const struct load *load, struct worker *workers, void *(*body)(void *))
{
    pthread_t threads[MOST_THREADS];

    for (int i = 0; i < load->threads; i++) {
        workers[i] =
            (struct worker){.load = load, .number = i, .random = load->seed * 1000003u + (unsigned)i};
        draw(&workers[i], 2);
        if (pthread_create(&threads[i], NULL, body, &workers[i])) {
            perror("pthread_create");
            exit(2);
        }
    }
    for (int i = 0; i < load->threads; i++)
        pthread_join(threads[i], NULL);
}

// The last line of every program.
static inline int verdict(const char *name, long got, long expected, const char *what)
{
    printf("%s: %ld %s, expected %ld\n", name, got, what, expected);
    return got == expected ? 0 : 1;
}

#endif
