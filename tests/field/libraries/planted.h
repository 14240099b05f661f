// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The planted race of the programs in this folder. A program calls planted_start before it uses its library, planted_end
// after its last use, and passes a function that uses the library on objects of the calling thread alone.
//
// With the argument `race`, two threads write two variables, one early and one late, while the rest of the program runs.
// Inline assembly in functions without hooks keeps them apart in time, so the race is no coin toss, and orders nothing.
//
//   racy_beside    the late thread writes it before its first call of the library: always found, or the detector is at fault
//   racy_between   both threads call the library between their writes: hidden if a lock of the library orders the calls, or
//                  the detector puts an edge at calls that make none
#ifndef PLANTED_H
#define PLANTED_H

#include <pthread.h>
#include <string.h>
#include <unistd.h>

int racy_beside, racy_between; // external, or the compiler drops the writes

static struct {
    void (*use)(int thread); // 0 or 1
    pthread_t early, late;
    int is_on, early_is_done;
} planted;

#define PLANTED_APART __attribute__((noinline, no_sanitize_thread))

PLANTED_APART static void planted_set(int *flag)
{
    __asm__ volatile("movl $1, %0" : "=m"(*flag) : : "memory");
}

PLANTED_APART static int planted_get(const int *flag)
{
    int value;
    __asm__ volatile("movl %1, %0" : "=r"(value) : "m"(*flag) : "memory");
    return value;
}

static inline void *planted_write_early(void *unused)
{
    racy_beside = 1;
    racy_between = 1;
    planted.use(0);
    planted_set(&planted.early_is_done);
    return unused;
}

static inline void *planted_write_late(void *unused)
{
    for (int i = 0; i < 20000 && !planted_get(&planted.early_is_done); i++)
        usleep(500);
    racy_beside = 2;
    planted.use(1);
    racy_between = 2;
    return unused;
}

// Starts the two threads if the program's argument is `race`.
static inline void planted_start(int argc, char **argv, void (*use)(int thread))
{
    planted.is_on = argc > 1 && !strcmp(argv[1], "race");
    planted.use = use;
    if (!planted.is_on)
        return;
    pthread_create(&planted.late, NULL, planted_write_late, NULL);
    pthread_create(&planted.early, NULL, planted_write_early, NULL);
}

// Waits for both threads.
static inline void planted_end(void)
{
    if (!planted.is_on)
        return;
    pthread_join(planted.early, NULL);
    pthread_join(planted.late, NULL);
}

#endif
