// forks WAY [race]: children of every kind, made while other threads lock. All is ordered but what `race`
// plants.
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "planted.h"

enum { THREADS = 4, TIMES = 25 };
extern char **environ;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long counter;
static atomic_bool stop;

static int status_of(pid_t child)
{
    int status;

    MUST(child > 0);
    MUST(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void add(void)
{
    pthread_mutex_lock(&mutex);
    counter++;
    pthread_mutex_unlock(&mutex);
}

static void *busy(void *unused)
{
    while (!stop)
        add();
    return unused;
}

// TIMES children in each thread, while another one locks all the time.
static void in_threads(void *(*body)(void *))
{
    pthread_t thread[THREADS], locks;

    MUST(pthread_create(&locks, NULL, busy, NULL) == 0);
    for (long i = 0; i < THREADS; i++)
        MUST(pthread_create(&thread[i], NULL, body, (void *)i) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    stop = true;
    pthread_join(locks, NULL);
}

static void *forks_body(void *unused)
{
    for (int i = 0; i < TIMES; i++) {
        pid_t child = fork();
        if (child == 0) {
            counter++; // a process of its own
            _exit(7);
        }
        MUST(status_of(child) == 7);
        add();
    }
    return unused;
}

static void *calls_body(void *unused)
{
    for (int i = 0; i < TIMES; i++) {
        pid_t child = (pid_t)syscall(SYS_fork);
        if (child == 0) {
            counter++;
            syscall(SYS_exit_group, 8);
        }
        MUST(status_of(child) == 8);
        add();
    }
    return unused;
}

static void *vforks_body(void *unused)
{
    char *words[] = {"true", NULL};

    for (int i = 0; i < TIMES; i++) {
        pid_t child = vfork();
        if (child == 0) {
            execve("/bin/true", words, environ);
            _exit(9);
        }
        MUST(status_of(child) == 0);
        add();
    }
    return unused;
}

static void *spawns_body(void *unused)
{
    char *words[] = {"sh", "-c", "exit 5", NULL};

    for (int i = 0; i < TIMES; i++) {
        pid_t child;
        MUST(posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ) == 0);
        MUST(status_of(child) == 5);
        add();
    }
    return unused;
}

static void forks(void)
{
    in_threads(forks_body);
}
static void calls(void)
{
    in_threads(calls_body);
}
static void vforks(void)
{
    in_threads(vforks_body);
}
static void spawns(void)
{
    in_threads(spawns_body);
}

static void shells(void)
{
    char line[16] = "";

    MUST(WEXITSTATUS(system("exit 3")) == 3);
    FILE *pipe = popen("echo words", "r");
    MUST(pipe && fgets(line, sizeof(line), pipe) && !strcmp(line, "words\n"));
    MUST(pclose(pipe) == 0);
}

// A chain of children, each of which has threads of its own.
static void chain(void)
{
    for (int depth = 0; depth < 6; depth++) {
        pthread_t thread;
        fflush(stdout);
        pid_t child = fork();
        if (child) {
            const int status = status_of(child);
            if (depth)
                _exit(status);
            MUST(status == 11);
            return;
        }
        stop = false;
        MUST(pthread_create(&thread, NULL, busy, NULL) == 0);
        for (int i = 0; i < 100; i++)
            add();
        stop = true;
        pthread_join(thread, NULL);
    }
    _exit(11);
}

static void before(void)
{
    pthread_mutex_lock(&mutex);
}
static void after(void)
{
    pthread_mutex_unlock(&mutex);
}

static void handlers(void)
{
    MUST(pthread_atfork(before, after, after) == 0);
    in_threads(forks_body);
}

static void killed(void)
{
    for (int i = 0; i < TIMES; i++) {
        pid_t child = fork();
        if (child == 0)
            for (;;)
                pause();
        kill(child, i % 2 ? SIGKILL : SIGTERM);
        MUST(status_of(child) == 128 + (i % 2 ? SIGKILL : SIGTERM));
    }
}

// Memory that parent and child share, handed over by the child's end.
static void shares(void)
{
    long *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    MUST(shared != MAP_FAILED);
    for (int i = 0; i < TIMES; i++) {
        pid_t child = fork();
        if (child == 0) {
            ++*shared;
            _exit(0);
        }
        MUST(status_of(child) == 0 && *shared == i + 1);
    }
}

int main(int argc, char **argv)
{
    static const struct way ways[] = {
        {"forks", forks}, {"calls", calls},       {"vforks", vforks}, {"spawns", spawns}, {"shells", shells},
        {"chain", chain}, {"handlers", handlers}, {"killed", killed}, {"shares", shares},
    };

    return run_way(ways, sizeof(ways) / sizeof(*ways), argc, argv);
}
