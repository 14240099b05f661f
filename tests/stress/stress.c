// Everything at once, correctly synchronised: 64 threads under locks, atomics, conditions, semaphores, a signal a
// millisecond, fork in a loop, a plugin that comes and goes, threads that come and go. The program checks its own
// view of the world (errno, EINTR, exit statuses, sums under locks) and ends with "done" and status 0. Whatever a
// detector reports of it is false.
//   stress SECONDS [THREADS]
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MOST_THREADS 1024

static atomic_bool stop;
static pthread_mutex_t locks[16];
static long guarded[16];
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static long read_mostly[32];
static pthread_spinlock_t spin;
static long spun;
static sem_t items;
static pthread_mutex_t queue_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t queue_filled = PTHREAD_COND_INITIALIZER;
static void *queue[256];
static unsigned queued;
static atomic_long signals, turns, forks, loads, threads_made;
static _Atomic(long *) published;
static int failures;
static pthread_mutex_t failure_mutex = PTHREAD_MUTEX_INITIALIZER;

static void fail(const char *what)
{
    pthread_mutex_lock(&failure_mutex);
    failures++;
    fprintf(stderr, "stress: %s\n", what);
    pthread_mutex_unlock(&failure_mutex);
}

static void on_signal(int number)
{
    const int saved = errno;

    (void)number;
    atomic_fetch_add(&signals, 1);
    sem_post(&items);
    errno = saved;
}

static void locked_sums(unsigned *seed)
{
    const unsigned i = rand_r(seed) % 16;

    pthread_mutex_lock(&locks[i]);
    const long before = guarded[i]++;
    if (guarded[i] != before + 1)
        fail("a locked counter changed under the lock");
    pthread_mutex_unlock(&locks[i]);
    if (rand_r(seed) % 8 == 0) {
        pthread_rwlock_wrlock(&rwlock);
        read_mostly[rand_r(seed) % 32]++;
        pthread_rwlock_unlock(&rwlock);
    } else {
        long sum = 0;
        pthread_rwlock_rdlock(&rwlock);
        for (int k = 0; k < 32; k++)
            sum += read_mostly[k];
        pthread_rwlock_unlock(&rwlock);
        if (sum < 0)
            fail("a sum is negative");
    }
    pthread_spin_lock(&spin);
    spun++;
    pthread_spin_unlock(&spin);
}

// Blocks go through a queue and are freed by others.
static void pass_blocks(unsigned *seed)
{
    const size_t size = 16 + rand_r(seed) % 5000;
    char *block = malloc(size);

    if (!block)
        return;
    memset(block, (int)size, size);
    pthread_mutex_lock(&queue_mutex);
    if (queued < 256) {
        queue[queued++] = block;
        block = NULL;
        pthread_cond_signal(&queue_filled);
    }
    pthread_mutex_unlock(&queue_mutex);
    free(block);
    block = NULL;
    pthread_mutex_lock(&queue_mutex);
    if (!queued) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 1000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000;
        }
        pthread_cond_timedwait(&queue_filled, &queue_mutex, &until);
    }
    if (queued)
        block = queue[--queued];
    pthread_mutex_unlock(&queue_mutex);
    if (block && block[0] != block[1])
        fail("a block changed on its way");
    free(block);
}

static void publish(unsigned *seed)
{
    long *fresh = malloc(2 * sizeof(*fresh)), *old;

    if (!fresh)
        return;
    fresh[0] = rand_r(seed);
    fresh[1] = ~fresh[0];
    old = atomic_exchange_explicit(&published, fresh, memory_order_acq_rel);
    if (old && old[1] != ~old[0])
        fail("a published pair is torn");
    free(old);
}

static void map_memory(unsigned *seed)
{
    const size_t size = 4096 * (1 + rand_r(seed) % 16);
    char *map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (map == MAP_FAILED)
        return;
    for (size_t i = 0; i < size; i += 512)
        map[i] = 1;
    munmap(map, size);
}

static void *work(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;

    while (!atomic_load(&stop)) {
        errno = 4711;
        switch (rand_r(&seed) % 8) {
        case 0: pass_blocks(&seed); break;
        case 1: publish(&seed); break;
        case 2: map_memory(&seed); break;
        case 3: sem_trywait(&items); errno = 4711; break;
        default: locked_sums(&seed);
        }
        atomic_fetch_add_explicit(&turns, 1, memory_order_relaxed);
        if (errno != 4711 && errno != EAGAIN && errno != ETIMEDOUT)
            fail("errno changed");
    }
    return NULL;
}

static void *short_life(void *argument)
{
    locked_sums(argument);
    return NULL;
}

static void *make_threads(void *unused)
{
    (void)unused;
    while (!atomic_load(&stop)) {
        pthread_t t[4];
        unsigned seeds[4] = {1, 2, 3, 4};
        int made = 0;
        for (; made < 4; made++)
            if (pthread_create(&t[made], NULL, short_life, &seeds[made]))
                break;
        for (int i = 0; i < made; i++)
            pthread_join(t[i], NULL);
        atomic_fetch_add(&threads_made, made);
    }
    return NULL;
}

static void *make_children(void *unused)
{
    (void)unused;
    while (!atomic_load(&stop)) {
        int status;
        const pid_t child = fork();
        if (child == 0) {
            long sum = 0;
            for (long i = 0; i < 1000; i++)
                sum += i;
            _exit(sum == 499500 ? 7 : 8);
        }
        if (child < 0)
            continue;
        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
            ;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 7)
            fail("a child ended in another way");
        atomic_fetch_add(&forks, 1);
        usleep(1000);
    }
    return NULL;
}

static void *load_plugin(void *path)
{
    while (path && !atomic_load(&stop)) {
        void *handle = dlopen(path, RTLD_NOW);
        if (!handle) {
            fail("the plugin does not load");
            return NULL;
        }
        long (*call)(int) = (long (*)(int))dlsym(handle, "plugin_call");
        for (int i = 0; call && i < 100; i++)
            call(i);
        dlclose(handle);
        atomic_fetch_add(&loads, 1);
        usleep(2000);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const int seconds = argc > 1 ? atoi(argv[1]) : 5, count = argc > 2 ? atoi(argv[2]) : 64;
    static pthread_t workers[MOST_THREADS], others[3];
    struct sigaction action = {.sa_handler = on_signal}; // without SA_RESTART: calls see EINTR
    struct itimerval every = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};

    if (count < 1 || count > MOST_THREADS)
        return 2;
    for (int i = 0; i < 16; i++)
        pthread_mutex_init(&locks[i], NULL);
    pthread_spin_init(&spin, 0);
    sem_init(&items, 0, 0);
    sigaction(SIGALRM, &action, NULL);
    for (int i = 0; i < count; i++)
        if (pthread_create(&workers[i], NULL, work, (void *)(uintptr_t)(i + 1)))
            fail("no thread");
    pthread_create(&others[0], NULL, make_threads, NULL);
    pthread_create(&others[1], NULL, make_children, NULL);
    pthread_create(&others[2], NULL, load_plugin, getenv("STRESS_PLUGIN"));
    setitimer(ITIMER_REAL, &every, NULL);
    struct timespec end, now;
    clock_gettime(CLOCK_MONOTONIC, &end);
    do {
        usleep(10000);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - end.tv_sec) * 1000000000 + now.tv_nsec - end.tv_nsec < seconds * 1000000000l);
    atomic_store(&stop, true);
    for (int i = 0; i < count; i++)
        pthread_join(workers[i], NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(others[i], NULL);
    setitimer(ITIMER_REAL, &never, NULL);
    if (!atomic_load(&signals) || !atomic_load(&forks))
        fail("nothing happened");
    printf("%ld turns, %ld signals, %ld forks, %ld loads, %ld threads\n", turns, signals, forks, loads, threads_made);
    puts(failures ? "failed" : "done");
    return failures != 0;
}
