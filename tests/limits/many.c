// Many threads, few or many at a time, with locks between them; says what the process takes while all are
// alive, and how long a batch took.
//   many live THREADS         all at once: each works under locks it shares with others, on memory of its own
//   and of all many life THREADS [BATCH] one batch after the other: the first and the last batches are timed
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOCKS  64
#define SHARED (1 << 18) // words under the locks: more than the history of memory=64M holds
#define FILLED 20000     // atomics and blocks of the heap, to fill the tables of these

static pthread_mutex_t lock[LOCKS];
static long under[LOCKS + 1];
static long shared[SHARED];
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrived = PTHREAD_COND_INITIALIZER, opened = PTHREAD_COND_INITIALIZER;
static int waiting, open_now;
static int stay;

// Functions by the hundred, for samplers that keep something for each.
#define F1(n)                                        \
    static __attribute__((noinline)) void f##n(void) \
    {                                                \
        under[LOCKS]++;                              \
    }
#define F8(n)  F1(n##0) F1(n##1) F1(n##2) F1(n##3) F1(n##4) F1(n##5) F1(n##6) F1(n##7)
#define F64(n) F8(n##0) F8(n##1) F8(n##2) F8(n##3) F8(n##4) F8(n##5) F8(n##6) F8(n##7)
#define N1(n)  f##n,
#define N8(n)  N1(n##0) N1(n##1) N1(n##2) N1(n##3) N1(n##4) N1(n##5) N1(n##6) N1(n##7)
#define N64(n) N8(n##0) N8(n##1) N8(n##2) N8(n##3) N8(n##4) N8(n##5) N8(n##6) N8(n##7)
F64(1) F64(2) F64(3) F64(4) static void (*const functions[])(void) = {N64(1) N64(2) N64(3) N64(4)};

static _Atomic long *fill(void)
{
    _Atomic long *many = calloc(FILLED, sizeof(*many));
    void **blocks = calloc(FILLED, sizeof(*blocks));

    for (unsigned i = 0; many && blocks && i < FILLED; i++) {
        atomic_store_explicit(&many[i], i, memory_order_release);
        blocks[i] = malloc(24);
    }
    for (unsigned i = 0; i < SHARED; i++)
        shared[i] = i;
    for (unsigned i = 0; blocks && i < FILLED; i++)
        free(blocks[i]);
    free(blocks);
    return many;
}

static void work(unsigned n)
{
    pthread_mutex_lock(&gate);
    for (unsigned i = 0; stay && i < sizeof(functions) / sizeof(functions[0]); i++)
        functions[i]();
    pthread_mutex_unlock(&gate);
    for (unsigned round = 0; round < 8; round++) {
        const unsigned l = (n * 7 + round * 13) % LOCKS;
        pthread_mutex_lock(&lock[l]);
        under[l]++;
        for (unsigned i = 0; i < 32; i++)
            shared[(n * 37 + round * 101 + i) % (SHARED / LOCKS) * LOCKS + l]++;
        pthread_mutex_unlock(&lock[l]);
    }
}

static void *live(void *argument)
{
    work((unsigned)(size_t)argument);
    if (!stay)
        return NULL;
    pthread_mutex_lock(&gate);
    waiting++;
    pthread_cond_signal(&arrived);
    while (!open_now)
        pthread_cond_wait(&opened, &gate);
    pthread_mutex_unlock(&gate);
    work((unsigned)(size_t)argument + 1);
    return NULL;
}

static void say_size(void)
{
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");

    while (f && fgets(line, sizeof(line), f))
        if (!strncmp(line, "VmSize", 6) || !strncmp(line, "VmRSS", 5) || !strncmp(line, "VmHWM", 5)) {
            char *name = strtok(line, ":"), *value = strtok(NULL, " \t");
            printf("%s %s\n", name, value);
        }
    if (f)
        fclose(f);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int make(pthread_t *t, long first, long count)
{
    pthread_attr_t small;

    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    for (long i = 0; i < count; i++)
        if (pthread_create(&t[i], &small, live, (void *)(first + i)))
            return (int)i;
    pthread_attr_destroy(&small);
    return (int)count;
}

int main(int argc, char **argv)
{
    const long count = argc > 2 ? atol(argv[2]) : 10, batch = argc > 3 ? atol(argv[3]) : 64;
    pthread_t *t = malloc((size_t)(count < 8192 ? 8192 : count) * sizeof(*t));

    if (!t) {
        fputs("cannot allocate\n", stderr);
        return 126;
    }
    stay = argc > 1 && !strcmp(argv[1], "live");
    for (int i = 0; i < LOCKS; i++)
        pthread_mutex_init(&lock[i], NULL);
    if (stay) {
        _Atomic long *filled = fill();
        const int made = make(t, 0, count);
        pthread_mutex_lock(&gate);
        while (waiting < made)
            pthread_cond_wait(&arrived, &gate);
        pthread_mutex_unlock(&gate);
        say_size();
        pthread_mutex_lock(&gate);
        open_now = 1;
        pthread_cond_broadcast(&opened);
        pthread_mutex_unlock(&gate);
        for (int i = 0; i < made; i++)
            pthread_join(t[i], NULL);
        free(filled);
        printf("made %d\n", made);
    } else {
        const long tenth = count / 10 / batch * batch;
        double start = now();
        long made = 0;
        while (made < count) {
            const int n = make(t, made, batch);
            for (int i = 0; i < n; i++)
                pthread_join(t[i], NULL);
            made += n;
            if (n < batch)
                break;
            if (made == tenth || made == 2 * tenth) // the first tenth warms up, the second is the measure
                printf("%s_us %.2f\n", made == tenth ? "warm" : "first",
                       (now() - start) * 1e6 / (double)tenth);
            if (made == tenth) {
                start = now();
                say_size();
            } else if (made >= count - tenth - batch && made < count - tenth) {
                start = now();
            }
        }
        printf("last_us %.2f\n", (now() - start) * 1e6 / (double)tenth);
        say_size();
        printf("made %ld\n", made);
    }
    long sum = 0;
    for (int i = 0; i < LOCKS; i++)
        sum += under[i];
    printf("sum %ld\n", sum);
    free(t);
    return 0;
}
