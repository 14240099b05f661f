// yields MILLISECONDS: one thread works for so much CPU time and then writes a word, while another spins with
// sched_yield until it has, and then writes it too: unordered, in code that is new. Both on one processor.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>

int word;
static int written, milliseconds;

static long used_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

// An order that no detector sees.
#define UNSEEN __attribute__((no_sanitize("thread"))) static

UNSEEN void write_last(void)
{
    __asm__ volatile("movl $1, %0" : "=m"(written)::"memory");
}

UNSEEN int read_last(void)
{
    int now;

    __asm__ volatile("movl %1, %0" : "=r"(now) : "m"(written) : "memory");
    return now;
}

static void *works(void *unused)
{
    while (used_ms() < milliseconds)
        ;
    word = 1;
    write_last();
    return unused;
}

static void *spins(void *unused)
{
    do
        sched_yield();
    while (!read_last());
    word = 2;
    return unused;
}

static void share_a_processor(void)
{
    cpu_set_t may, one;
    int first = 0;

    sched_getaffinity(0, sizeof(may), &may);
    while (!CPU_ISSET(first, &may))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    sched_setaffinity(0, sizeof(one), &one);
}

int main(int argc, char **argv)
{
    pthread_t a, b;

    share_a_processor();
    milliseconds = argc > 1 ? atoi(argv[1]) : 40;
    pthread_create(&a, NULL, works, NULL);
    pthread_create(&b, NULL, spins, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}
