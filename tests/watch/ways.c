/*
 * ways WAY: two threads take turns under a lock, by code that has run often and code that has not, while
 * watchpoints are in use; and the process does what the word says. Nothing races.
 *
 * - none: nothing
 * - trap: an int3 that nobody handles
 * - close: closes all descriptors but the first three
 * - block: all signals, in all threads
 * - raw: the same by the system call
 * - bare: and by the instruction, which nobody sees
 * - handler: works in a handler whose mask has all signals
 * - exec: becomes another program
 * - spawn: starts others, by fork and by posix_spawn
 * - threads: many short threads come and go
 */
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

long shared[64];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int raw_block, bare_block, by_handler;

__attribute__((noinline)) static void add(long *to, long value)
{
    *to += value;
}

static void block_bare(const unsigned long *all)
{
    register long size __asm__("r10") = 8;
    long r;

    __asm__ volatile("syscall"
                     : "=a"(r)
                     : "a"(SYS_rt_sigprocmask), "D"(SIG_SETMASK), "S"(all), "d"(NULL), "r"(size)
                     : "rcx", "r11", "memory");
    if (r)
        exit(7);
}

static int blocks_trap(void)
{
    sigset_t now;

    return sigprocmask(SIG_BLOCK, NULL, &now) == 0 && sigismember(&now, SIGTRAP) == 1;
}

// In the thread that has the lock.
static void on_user(int number)
{
    for (int i = 0; i < 64; i++)
        add(&shared[i], number);
    if (!blocks_trap())
        _exit(8);
}

static void by_signal(void)
{
    raise(SIGUSR1);
    if (blocks_trap())
        exit(9);
}

static void *work(void *unused)
{
    unsigned long all = ~0ul, now = 0;
    long own[8] = {0};

    if (raw_block && (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8) ||
                      syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &now, 8) || !(now >> (SIGTRAP - 1) & 1)))
        exit(7);
    if (bare_block)
        block_bare(&all);
    for (int i = 0; i < 30000; i++) {
        for (int k = 0; k < 8; k++)
            add(&own[k], i);
        pthread_mutex_lock(&mutex);
        add(&shared[i % 64], own[i % 8]);
        if (by_handler && i % 100 == 0)
            by_signal();
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

static void in_threads(void)
{
    pthread_t t[3];

    for (int i = 0; i < 3; i++)
        if (pthread_create(&t[i], NULL, work, NULL))
            exit(3);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
}

static void *little(void *unused)
{
    pthread_mutex_lock(&mutex);
    add(&shared[0], 1);
    pthread_mutex_unlock(&mutex);
    return unused;
}

static void many_threads(void)
{
    pthread_t t;

    for (int i = 0; i < 2000; i++) {
        if (pthread_create(&t, NULL, little, NULL))
            exit(3);
        pthread_join(t, NULL);
    }
}

static void start_others(void)
{
    char *const words[] = {"true", NULL};
    extern char **environ;
    int status;
    pid_t child;

    for (int i = 0; i < 10; i++) {
        if ((child = fork()) == 0) {
            add(&shared[i], 1);
            _exit(0);
        }
        if (waitpid(child, &status, 0) != child || status)
            exit(4);
        if (posix_spawnp(&child, "true", NULL, NULL, words, environ) || waitpid(child, &status, 0) != child ||
            status)
            exit(5);
    }
}

int main(int count, char **words)
{
    const char *way = count > 1 ? words[1] : "none";
    struct sigaction handler = {.sa_handler = on_user};
    sigset_t all;

    raw_block = !strcmp(way, "raw");
    bare_block = !strcmp(way, "bare");
    by_handler = !strcmp(way, "handler");
    sigfillset(&handler.sa_mask);
    sigaction(SIGUSR1, &handler, NULL);
    if (!strcmp(way, "block")) {
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, NULL);
    }
    in_threads();
    if (!strcmp(way, "trap"))
        __asm__ volatile("int3");
    if (!strcmp(way, "close"))
        for (int fd = 3; fd < 70000; fd++)
            close(fd);
    if (!strcmp(way, "spawn"))
        start_others();
    if (!strcmp(way, "threads"))
        many_threads();
    in_threads();
    if (!strcmp(way, "block") && !blocks_trap())
        return 6;
    puts("done");
    fflush(stdout);
    if (!strcmp(way, "exec"))
        execlp("echo", "echo", "executed", (char *)NULL);
    return 0;
}
