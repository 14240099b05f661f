// A program that confines itself by a seccomp filter and goes on: threads, a mutex, memory, output.
//   sandbox allow|deny NUMBERS|none WHEN RACES
// NUMBERS are system calls, separated by commas: the only ones allowed, or the ones denied. Any other use ends the process
// (SIGSYS). WHEN is early (before the threads begin) or late (while they run). RACES: race or clean.
#define _GNU_SOURCE
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { THREADS = 3, ROUNDS = 20000, MOST = 100 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t confined_now = PTHREAD_COND_INITIALIZER;
static int confined;
static long counted, raced;
static atomic_long added;
static int races;

static void confine(const char *how, const char *numbers)
{
    const int allows = strcmp(how, "allow") == 0;
    struct sock_filter code[2 * MOST + 4];
    unsigned short n = 0;

    if (strcmp(numbers, "none") == 0)
        return;
    code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (const char *at = numbers; *at && n < 2 * MOST; at += strspn(at, ",")) {
        const unsigned number = (unsigned)strtoul(at, (char **)&at, 10);
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, allows ? SECCOMP_RET_ALLOW : SECCOMP_RET_KILL_PROCESS);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, allows ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW);
    const struct sock_fprog filter = {n, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        exit(77);
    // Both ways to ask for it; either counts for all threads.
    const long r = getenv("SANDBOX_BY_PRCTL") ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)
                                              : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
    if (r)
        exit(77);
}

static void *work(void *unused)
{
    pthread_mutex_lock(&lock);
    while (!confined)
        pthread_cond_wait(&confined_now, &lock);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&lock);
        counted++;
        pthread_mutex_unlock(&lock);
        atomic_fetch_add(&added, 1);
        if (races)
            raced++;
        if (i % 5000 == 0) {
            char *p = malloc(300000); // its own mapping
            memset(p, i, 300000);
            free(p);
        }
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];

    if (argc < 5)
        return 2;
    const int late = strcmp(argv[3], "late") == 0;
    races = strcmp(argv[4], "race") == 0;
    printf("begin\n");
    fflush(stdout);
    if (!late)
        confine(argv[1], argv[2]);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, NULL))
            return 1;
    if (late)
        confine(argv[1], argv[2]);
    pthread_mutex_lock(&lock);
    confined = 1;
    pthread_cond_broadcast(&confined_now);
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%ld counted, %ld added\n", counted, atomic_load(&added));
    return 0;
}
