// threads WAY [race]: threads in numbers, and ends of threads of every kind. All is ordered but what `race`
// plants.
#define _GNU_SOURCE
#include <limits.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <threads.h>
#include <unistd.h>

#include "planted.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;
static long sum, gate;

static void *add(void *number)
{
    pthread_mutex_lock(&mutex);
    sum += (long)number;
    pthread_mutex_unlock(&mutex);
    return number;
}

static void succession(void)
{
    for (long i = 0; i < 10000; i++) {
        pthread_t thread;
        void *result;
        MUST(pthread_create(&thread, NULL, add, (void *)i) == 0);
        MUST(pthread_join(thread, &result) == 0 && (long)result == i);
    }
    printf("%ld\n", sum);
}

static void *add_and_post(void *number)
{
    add(number);
    sem_post(&semaphore);
    return NULL;
}

static void detached(void)
{
    pthread_attr_t attributes;

    sem_init(&semaphore, 0, 0);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    for (long i = 0; i < 10000; i++) {
        pthread_t thread;
        MUST(pthread_create(&thread, &attributes, add_and_post, (void *)i) == 0);
        sem_wait(&semaphore);
    }
    printf("%ld\n", sum);
}

static void *wait_and_add(void *number)
{
    pthread_mutex_lock(&mutex);
    while (!gate)
        pthread_cond_wait(&condition, &mutex);
    sum += (long)number;
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void at_once(void)
{
    enum { COUNT = 2000 };
    static pthread_t thread[COUNT];
    pthread_attr_t attributes;
    const size_t least = (size_t)PTHREAD_STACK_MIN, small = least > 16384 ? least : 16384;

    pthread_attr_init(&attributes);
    MUST(pthread_attr_setstacksize(&attributes, small) == 0);
    for (long i = 0; i < COUNT; i++)
        MUST(pthread_create(&thread[i], &attributes, wait_and_add, (void *)i) == 0);
    pthread_mutex_lock(&mutex);
    gate = 1;
    pthread_cond_broadcast(&condition);
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < COUNT; i++)
        pthread_join(thread[i], NULL);
    printf("%ld\n", sum);
}

static void *nest(void *depth)
{
    pthread_t thread[2];
    const long below = (long)depth - 1;

    add(depth);
    if (below < 0)
        return NULL;
    for (int i = 0; i < 2; i++)
        MUST(pthread_create(&thread[i], NULL, nest, (void *)below) == 0);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    return NULL;
}

static void nested(void)
{
    nest((void *)8);
    printf("%ld\n", sum);
}

static pthread_key_t key;

static void destroy(void *value)
{
    add(value);
}

static void *set_key(void *number)
{
    pthread_setspecific(key, number);
    return NULL;
}

static void keys(void)
{
    MUST(pthread_key_create(&key, destroy) == 0);
    for (long i = 1; i <= 500; i++) {
        pthread_t thread;
        MUST(pthread_create(&thread, NULL, set_key, (void *)i) == 0);
        pthread_join(thread, NULL);
    }
    printf("%ld\n", sum);
}

static void *wait_for_cancel(void *unused)
{
    pthread_cleanup_push(destroy, (void *)3);
    sem_post(&semaphore);
    for (;;)
        pause();
    pthread_cleanup_pop(1);
    return unused;
}

static void cancel(void)
{
    sem_init(&semaphore, 0, 0);
    for (int i = 0; i < 200; i++) {
        pthread_t thread;
        void *result;
        MUST(pthread_create(&thread, NULL, wait_for_cancel, NULL) == 0);
        sem_wait(&semaphore);
        pthread_cancel(thread);
        MUST(pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    }
    printf("%ld\n", sum);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static long made;

static void make(void)
{
    made = 42;
}

static void *use_once(void *unused)
{
    pthread_once(&once, make);
    MUST(made == 42);
    return unused;
}

static void onces(void)
{
    pthread_t thread[16];

    for (int i = 0; i < 16; i++)
        MUST(pthread_create(&thread[i], NULL, use_once, NULL) == 0);
    for (int i = 0; i < 16; i++)
        pthread_join(thread[i], NULL);
    puts("once");
}

static int c11_body(void *unused)
{
    (void)unused;
    add((void *)7);
    thrd_exit(5);
}

static void c11(void)
{
    for (int i = 0; i < 300; i++) {
        thrd_t thread;
        int result;
        MUST(thrd_create(&thread, c11_body, NULL) == thrd_success);
        MUST(thrd_join(thread, &result) == thrd_success && result == 5);
    }
    printf("%ld\n", sum);
}

static pthread_barrier_t barrier;
static long cells[8];

static void *step(void *number)
{
    const int me = (int)(long)number;

    for (int round = 0; round < 500; round++) {
        cells[me]++;
        pthread_barrier_wait(&barrier);
        MUST(cells[(me + round) % 8] == round + 1);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

static void barriers(void)
{
    pthread_t thread[8];

    pthread_barrier_init(&barrier, NULL, 8);
    for (long i = 0; i < 8; i++)
        MUST(pthread_create(&thread[i], NULL, step, (void *)i) == 0);
    for (int i = 0; i < 8; i++)
        pthread_join(thread[i], NULL);
    puts("barrier");
}

// Peterson's lock: order by atomics alone.
static atomic_int flag[2], turn;

static void *peterson(void *number)
{
    const int me = (int)(long)number, other = 1 - me;

    for (int i = 0; i < 2000; i++) {
        atomic_store(&flag[me], 1);
        atomic_store(&turn, other);
        while (atomic_load(&flag[other]) && atomic_load(&turn) == other)
            sched_yield();
        sum++;
        atomic_store(&flag[me], 0);
    }
    return NULL;
}

static void atomics(void)
{
    pthread_t thread[2];

    for (long i = 0; i < 2; i++)
        MUST(pthread_create(&thread[i], NULL, peterson, (void *)i) == 0);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    printf("%ld\n", sum);
}

static int deep(int depth)
{
    volatile char here[64];

    here[depth % 64] = (char)depth;
    return depth == 0 ? here[0] : deep(depth - 1) + (here[depth % 64] == (char)depth);
}

static void *deep_body(void *unused)
{
    (void)unused;
    return (void *)(long)deep(20000);
}

static void recursion(void)
{
    pthread_t thread[2];
    void *result;

    for (int i = 0; i < 2; i++)
        MUST(pthread_create(&thread[i], NULL, deep_body, NULL) == 0);
    for (int i = 0; i < 2; i++) {
        pthread_join(thread[i], &result);
        printf("%ld\n", (long)result);
    }
}

static void mutexes(void)
{
    enum { COUNT = 20000 }; // ten times as many fill what memory= allows
    pthread_mutex_t *many = malloc(COUNT * sizeof(*many));

    MUST(many);
    for (int i = 0; i < COUNT; i++) {
        pthread_mutex_init(&many[i], NULL);
        pthread_mutex_lock(&many[i]);
        pthread_mutex_unlock(&many[i]);
    }
    for (int i = 0; i < COUNT; i++)
        MUST(pthread_mutex_destroy(&many[i]) == 0);
    free(many);
    puts("mutexes");
}

int main(int argc, char **argv)
{
    static const struct way ways[] = {
        {"succession", succession},
        {"detached", detached},
        {"at_once", at_once},
        {"nested", nested},
        {"keys", keys},
        {"cancel", cancel},
        {"once", onces},
        {"c11", c11},
        {"barriers", barriers},
        {"atomics", atomics},
        {"recursion", recursion},
        {"mutexes", mutexes},
    };

    return run_way(ways, sizeof(ways) / sizeof(*ways), argc, argv);
}
