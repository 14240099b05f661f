// What the programs of this folder share. Each prints the same in every run of the plain build: how often it sends signals is
// its first argument.
#ifndef SIGNALS_H
#define SIGNALS_H

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_long steps;
static atomic_int done;
static long counted; // under the lock

static inline int count_of(int argc, char **argv, int otherwise)
{
    return argc > 1 ? atoi(argv[1]) : otherwise;
}

static inline void handle(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction a = {.sa_sigaction = handler, .sa_flags = flags | SA_SIGINFO};

    if (sigaction(number, &a, NULL))
        abort();
}

// What a program does all the time: a signal may come at any of its steps.
static inline void step(void)
{
    pthread_mutex_lock(&lock);
    counted++;
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&steps, 1);
}

static inline void *step_until_done(void *unused)
{
    while (!atomic_load(&done))
        step();
    return unused;
}

static inline void queue(pthread_t thread, int number, int value)
{
    const union sigval v = {.sival_int = value};
    int r;

    while ((r = pthread_sigqueue(thread, number, v)) == EAGAIN)
        sched_yield();
    if (r)
        abort();
}

#endif
