// Descriptors, environment, limits, names, threads, timers, errno.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "see.h"

extern char **environ;

static int count_entries(const char *folder)
{
    DIR *d = opendir(folder);
    int n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

static void see_descriptors(void)
{
    const int one = open("/dev/null", O_RDONLY), two = open("/dev/null", O_RDONLY);

    SEE("lowest free descriptors", "%d %d", one, two);
    close(one);
    close(two);
    SEE("descriptors", "%d", count_entries("/proc/self/fd"));
    for (int i = 0; i < 3; i++) {
        struct stat s;
        const int known = fstat(i, &s);
        SEE("standard descriptor", "%d flags %x %x offset %ld type %o", i, fcntl(i, F_GETFL),
            fcntl(i, F_GETFD), i == 0 ? (long)lseek(i, 0, SEEK_CUR) : 0L, known ? 0 : s.st_mode & S_IFMT);
    }
}

static void see_environment(void)
{
    unsigned n = 0, sum = 0;

    for (char **e = environ; *e; e++) {
        if (!strncmp(*e, "RAILBIRD_", 9))
            continue;
        n++;
        for (const char *c = *e; *c; c++)
            sum = sum * 31 + (unsigned char)*c;
    }
    SEE("environment", "%u variables, %u", n, sum);
    SEE("preloaded", "%s", getenv("LD_PRELOAD") ? getenv("LD_PRELOAD") : "nothing");
}

static void see_limits(void)
{
    for (int i = 0; i < RLIMIT_NLIMITS; i++) {
        struct rlimit l;
        getrlimit((__rlimit_resource_t)i, &l);
        SEE("limit", "%d %llx %llx", i, (unsigned long long)l.rlim_cur, (unsigned long long)l.rlim_max);
    }
}

static void see_names(void)
{
    char comm[32] = "", name[32] = "";
    const int fd = open("/proc/self/comm", O_RDONLY);

    if (read(fd, comm, sizeof(comm) - 1) > 0)
        comm[strcspn(comm, "\n")] = 0;
    close(fd);
    prctl(PR_GET_NAME, name);
    SEE("name", "%s %s", comm, name);
    SEE("dumpable, death signal, no new privileges, seccomp", "%d %d %d %d", prctl(PR_GET_DUMPABLE),
        prctl(PR_GET_PDEATHSIG, &(int){0}), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), prctl(PR_GET_SECCOMP));
    SEE("scheduler, nice", "%d %d", sched_getscheduler(0), getpriority(PRIO_PROCESS, 0));
    cpu_set_t cpus;
    sched_getaffinity(0, sizeof(cpus), &cpus);
    SEE("processors", "%d", CPU_COUNT(&cpus));
    SEE("umask", "%o", umask(022));
}

static void see_timers(void)
{
    struct itimerval t;

    for (int which = 0; which < 3; which++) {
        getitimer((__itimer_which_t)which, &t);
        SEE("timer", "%d: %ld %ld", which, (long)t.it_value.tv_sec, (long)t.it_value.tv_usec);
    }
    SEE("alarm", "%u", alarm(100));
    SEE("alarm", "%u", alarm(0));
}

void see_process(void)
{
    see_descriptors();
    see_environment();
    see_limits();
    see_names();
    see_timers();
    // A thread of the runtime's own may be there as long as there are several, and a little longer.
    for (int i = 0; i < 200 && count_entries("/proc/self/task") > 3; i++)
        usleep(10000);
    SEE("threads", "%d", count_entries("/proc/self/task") - 2);
}

// ---- errno ---------------------------------------------------------------------------------------------

#define KEEPS(call)                                                 \
    do {                                                            \
        errno = 4711;                                               \
        const long result = (long)(call);                           \
        SEE("errno", "%d after %s: %d", errno, #call, result == 0); \
    } while (0)

static void *nothing(void *p)
{
    errno = 4711;
    return p;
}

static volatile char bytes[64], more[64];

void see_errno(void)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    pthread_barrier_t b;
    pthread_spinlock_t spin;
    pthread_key_t key;
    struct timespec past = {1, 0};
    pthread_t t;
    sem_t s;
    int fds[2];
    char byte = 0;

    KEEPS(pthread_mutex_lock(&m));
    KEEPS(pthread_mutex_trylock(&m));
    KEEPS(pthread_cond_timedwait(&c, &m, &past));
    KEEPS(pthread_cond_signal(&c));
    KEEPS(pthread_mutex_unlock(&m));
    KEEPS(pthread_rwlock_rdlock(&rw));
    KEEPS(pthread_rwlock_trywrlock(&rw));
    KEEPS(pthread_rwlock_unlock(&rw));
    KEEPS(pthread_barrier_init(&b, NULL, 1));
    KEEPS(pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD ? 0 : 1);
    KEEPS(pthread_barrier_destroy(&b));
    KEEPS(pthread_spin_init(&spin, 0));
    KEEPS(pthread_spin_lock(&spin));
    KEEPS(pthread_spin_unlock(&spin));
    KEEPS(sem_init(&s, 0, 0));
    KEEPS(sem_trywait(&s));
    KEEPS(sem_timedwait(&s, &past));
    KEEPS(sem_post(&s));
    KEEPS(sem_wait(&s));
    KEEPS(pthread_create(&t, NULL, nothing, NULL));
    KEEPS(pthread_join(t, NULL));
    KEEPS(pthread_key_create(&key, NULL));
    KEEPS(pthread_setspecific(key, &key));
    KEEPS(pipe(fds));
    KEEPS(write(fds[1], "x", 1) - 1);
    KEEPS(read(fds[0], &byte, 1) - 1);
    KEEPS(close(fds[0]));
    KEEPS(close(fds[1]));
    KEEPS(close(fds[1]));
    KEEPS(read(-1, &byte, 1));
    KEEPS(open("/nonexistent", O_RDONLY));
    KEEPS(munmap(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096));
    KEEPS((uintptr_t)mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == (uintptr_t)MAP_FAILED);
    KEEPS((free(malloc(100)), 0));
    KEEPS((free(realloc(malloc(1), 10000)), 0));
    KEEPS(malloc(PTRDIFF_MAX) != NULL);
    KEEPS((memset((void *)bytes, 1, 64), memcpy((void *)more, (void *)bytes, 64),
           memcmp((void *)more, (void *)bytes, 64)));
    KEEPS((bytes[3]++, __atomic_fetch_add(&more[5], 1, __ATOMIC_SEQ_CST), 0));
    KEEPS((meet_race(), 0));
    KEEPS(kill(getpid(), 0));
    KEEPS(raise(1000));
}
