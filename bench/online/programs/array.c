// A hot loop over arrays that fit the cache, in four threads that share nothing but the input: four accesses
// for three additions, which is the worst that instrumentation meets in code people write. array [ROUNDS]
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, LENGTH = 1024 };
static long input[LENGTH];
static long rounds = 800000;

static void smooth(long *to, const long *from, int length)
{
    for (int i = 1; i < length - 1; i++)
        to[i] = (from[i - 1] + 2 * from[i] + from[i + 1]) >> 2;
}

static void *work(void *number)
{
    long *a = calloc(LENGTH, sizeof(*a)), *b = calloc(LENGTH, sizeof(*b)), sum = 0;

    for (long i = 0; i < rounds / THREADS; i++) {
        if (i % 16 == 0) {
            smooth(a, input, LENGTH);
            a[i % LENGTH] += (long)number;
        }
        smooth(b, a, LENGTH);
        smooth(a, b, LENGTH);
    }
    for (int i = 0; i < LENGTH; i++)
        sum += a[i];
    free(a);
    free(b);
    return (void *)sum;
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS];
    long sum = 0;

    if (argc > 1)
        rounds = atol(argv[1]);
    for (int i = 0; i < LENGTH; i++)
        input[i] = (i * 7919L) % 100003;
    for (long i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        void *part;
        pthread_join(t[i], &part);
        sum += (long)part;
    }
    printf("%ld\n", sum);
    return 0;
}
