// A host whose allocator counts (counting.c): what it counts must not depend on a runtime being there.
// Threads come and go, a library is loaded and unloaded, exit handlers and keys are used, a child is forked,
// and if asked for, races are met on the way (their reports too must not use the host's allocator). Every
// call is made in the same order each time: threads are joined before the next step.
//   allocations PLUGIN races|none
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void counting_say(void) __attribute__((weak));

#define THREADS 16

static int racy[8], safe;
static int meet_races;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_key(void)
{
    pthread_key_create(&key, free);
}

static void *work(void *argument)
{
    const long n = (long)argument;
    char *block = malloc(100 + (size_t)n);

    pthread_once(&once, make_key);
    pthread_setspecific(key, malloc(10));
    if (!block) // mmap.sh sees to that
        return NULL;
    memset(block, (int)n, 100);
    pthread_mutex_lock(&mutex);
    safe += block[1];
    pthread_mutex_unlock(&mutex);
    if (meet_races)
        for (int i = 0; i < 8; i++)
            racy[i] += (int)n;
    free(block);
    return NULL;
}

static void on_signal(int number)
{
    (void)number;
    __atomic_fetch_add(&safe, 1, __ATOMIC_RELAXED);
}

static void at_end(int status, void *unused)
{
    (void)status;
    (void)unused;
    free(malloc(3));
}

// The last of the program's destructors, after the runtime's own end (101) when that has nothing to say.
static __attribute__((destructor(101))) void say(void)
{
    if (counting_say)
        counting_say();
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_signal};
    pthread_t t[THREADS];
    sem_t s;

    if (argc < 3)
        return 2;
    meet_races = !strcmp(argv[2], "races");
    sigaction(SIGUSR1, &action, NULL);
    sem_init(&s, 0, 0);
    on_exit(at_end, NULL);
    for (int round = 0; round < 4; round++) {
        for (long i = 0; i < THREADS; i++)
            if (pthread_create(&t[i], NULL, work, (void *)i))
                return 3;
        for (int i = 0; i < THREADS; i++)
            pthread_join(t[i], NULL);
        void *plugin = dlopen(argv[1], RTLD_NOW);
        if (!plugin)
            return 4;
        long (*call)(int) = (long (*)(int))dlsym(plugin, "plugin_call");
        for (int i = 0; call && i < 10; i++)
            call(i);
        dlclose(plugin);
        raise(SIGUSR1);
        sem_post(&s);
        sem_wait(&s);
    }
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_JOINABLE);
    pthread_create(&t[0], &attributes, work, NULL);
    pthread_attr_destroy(&attributes);
    pthread_join(t[0], NULL);
    const pid_t child = fork();
    if (child == 0) {
        free(malloc(77));
        _exit(9);
    }
    int status;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    FILE *f = fopen("/dev/null", "w");
    if (f) {
        fprintf(f, "%d", safe);
        fclose(f);
    }
    return 0;
}
