// yields MILLISECONDS: one thread works for so much CPU time and then writes a word, while another spins with
// sched_yield until it has, and then writes it too: unordered, in code that is new.
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

static void *works(void *unused)
{
    while (used_ms() < milliseconds)
        ;
    word = 1;
    __asm__ volatile("movl $1, %0" : "=m"(written)::"memory"); // an order that no detector sees
    return unused;
}

static void *spins(void *unused)
{
    int now;

    do {
        sched_yield();
        __asm__ volatile("movl %1, %0" : "=r"(now) : "m"(written) : "memory");
    } while (!now);
    word = 2;
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t a, b;

    milliseconds = argc > 1 ? atoi(argv[1]) : 40;
    pthread_create(&a, NULL, works, NULL);
    pthread_create(&b, NULL, spins, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}
