// after_loop calls|whole: two threads work for some time in a loop and then write a word, unordered: once, in
// a function that has done nothing but loop for long. A round of the loop calls something, or nothing at all.
#include <pthread.h>
#include <string.h>
#include <time.h>

int word, numbers[4096];

static long used_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void *works_by_calls(void *mine)
{
    int *at = mine;

    while (used_ms() < 60)
        at[0]++;
    word = 1;
    return mine;
}

static void *works_alone(void *mine)
{
    int *at = mine;
    unsigned state = 1;

    for (long i = 0; i < 40000000; i++) {
        state = state * 1664525u + 1013904223u;
        at[state >> 22] += (int)i;
    }
    word = 1;
    return mine;
}

int main(int argc, char **argv)
{
    pthread_t a, b;
    const int calls = argc > 1 && !strcmp(argv[1], "calls");

    pthread_create(&a, NULL, calls ? works_by_calls : works_alone, numbers);
    pthread_create(&b, NULL, calls ? works_by_calls : works_alone, numbers + 2048);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}
