// A host that looks closely (see.h), and ends in each of the ways there are.
//   harm see                  prints what it sees; races are met on the way
//   harm end HOW [races]      ends by HOW: return, exit, _exit, _Exit, quick_exit, abort, segv and so on
//   harm confined HOW         meets a race after it has confined itself; 77: that cannot be done here
//   harm stack                the stack that a thread uses, in KiB
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "see.h"

// ---- a race --------------------------------------------------------------------------------------------
// The second access comes later for certain, by an order that no detector sees: the value of a pipe would be
// seen, assembly in a function without instrumentation is not.

static int raced;
static int first_done;

#define UNSEEN __attribute__((no_sanitize("thread"))) static

UNSEEN void reach(void)
{
    __asm__ volatile("movl $1, %0" : "=m"(first_done)::"memory");
}

UNSEEN void await(void)
{
    int now;

    do {
        __asm__ volatile("movl %1, %0" : "=r"(now) : "m"(first_done) : "memory");
        sched_yield();
    } while (!now);
}

static void *write_first(void *unused)
{
    raced = 1;
    reach();
    return unused;
}

static void *write_second(void *unused)
{
    await();
    raced = 2;
    return unused;
}

void meet_race(void)
{
    pthread_t a, b;

    first_done = 0;
    pthread_create(&a, NULL, write_first, NULL);
    pthread_create(&b, NULL, write_second, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
}

// ---- ends ----------------------------------------------------------------------------------------------

static volatile int unsaid;

static void said(const char *text)
{
    if (write(1, text, strlen(text)) < 0)
        unsaid++;
}

static void at_exit(void)
{
    said("exit handler\n");
}

static void on_quick_exit(void)
{
    said("quick exit handler\n");
}

static __attribute__((destructor)) void at_unload(void)
{
    said("destructor\n");
}

static __attribute__((noinline)) void crash_here(void)
{
    *(volatile int *)(uintptr_t)16 = 1;
}

static void *exits(void *unused)
{
    (void)unused;
    exit(11);
}

static void *main_has_ended(void *unused)
{
    usleep(20000);
    said("the last thread\n");
    return unused;
}

static int end(const char *how, int races)
{
    pthread_t t;

    atexit(at_exit);
    at_quick_exit(on_quick_exit);
    if (races)
        meet_race();
    printf("buffered\n");
    if (!strcmp(how, "return"))
        return 10;
    if (!strcmp(how, "exit"))
        exit(12);
    if (!strcmp(how, "zero"))
        exit(0);
    if (!strcmp(how, "_exit"))
        _exit(13);
    if (!strcmp(how, "_Exit"))
        _Exit(14);
    if (!strcmp(how, "quick_exit"))
        quick_exit(15);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "segv"))
        crash_here();
    if (!strcmp(how, "kill"))
        raise(SIGKILL);
    if (!strcmp(how, "term"))
        raise(SIGTERM);
    if (!strcmp(how, "syscall"))
        syscall(SYS_exit_group, 16);
    if (!strcmp(how, "thread")) {
        pthread_create(&t, NULL, exits, NULL);
        pthread_join(t, NULL);
    }
    if (!strcmp(how, "main-thread")) {
        pthread_create(&t, NULL, main_has_ended, NULL);
        pthread_exit(NULL);
    }
    return 99;
}

// ---- confined ------------------------------------------------------------------------------------------

static int confined(const char *how)
{
    if (!strcmp(how, "chroot") && (mkdir("empty", 0755), chroot("empty") || chdir("/")))
        return 77;
    if (!strcmp(how, "setuid") && (setgid(65534) || setuid(65534)))
        return 77;
    if (!strcmp(how, "close_range") && syscall(SYS_close_range, 3, ~0u, 0))
        return 77;
    if (!strcmp(how, "no-descriptors")) {
        struct rlimit none = {3, 3};
        setrlimit(RLIMIT_NOFILE, &none);
    }
    if (!strcmp(how, "no-files")) {
        struct rlimit none = {0, 0};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &none);
    }
    if (!strcmp(how, "no-stderr"))
        close(2);
    if (!strcmp(how, "no-standard"))
        for (int i = 0; i < 3; i++)
            close(i);
    if (!strcmp(how, "full-stderr"))
        dup2(open("/dev/full", O_WRONLY), 2);
    if (!strcmp(how, "closed-pipe")) {
        int fds[2];
        if (pipe(fds) == 0) {
            dup2(fds[1], 2);
            close(fds[0]);
            close(fds[1]);
        }
        signal(SIGPIPE, SIG_IGN);
    }
    if (!strcmp(how, "no-environment"))
        clearenv();
    if (!strcmp(how, "unreachable-children"))
        signal(SIGCHLD, SIG_IGN);
    meet_race();
    said("alive\n");
    return 0;
}

// Nothing but read, write and exit is allowed from here on: accesses, locks and atomics go on.
static int strict(void)
{
    static int counter;
    static volatile int words[4096];
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

    if (prctl(PR_SET_SECCOMP, 1))
        return 77;
    for (int i = 0; i < 4096; i++) {
        pthread_mutex_lock(&m);
        words[i] = words[i / 2] + counter++;
        pthread_mutex_unlock(&m);
        __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);
    }
    said(counter == 8192 ? "alive\n" : "wrong\n");
    syscall(SYS_exit, 0);
    return 1;
}

// ---- stack ---------------------------------------------------------------------------------------------

#define STACK ((size_t)256 << 10)

static pthread_mutex_t stack_mutex = PTHREAD_MUTEX_INITIALIZER;
static int under_stack_mutex;

static void *uses_little(void *with_race)
{
    pthread_mutex_lock(&stack_mutex);
    under_stack_mutex++;
    pthread_mutex_unlock(&stack_mutex);
    if (with_race)
        raced++;
    return NULL;
}

static size_t used_stack(int with_race)
{
    unsigned char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attributes;
    pthread_t t;
    size_t untouched = 0;

    memset(stack, 0xa5, STACK);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, STACK);
    if (pthread_create(&t, &attributes, uses_little, with_race ? &t : NULL))
        return 0;
    if (with_race)
        raced++;
    pthread_join(t, NULL);
    while (untouched < STACK && ((volatile unsigned char *)stack)[untouched] == 0xa5)
        untouched++;
    munmap(stack, STACK);
    return STACK - untouched;
}

static void *smallest(void *unused)
{
    raced++;
    return uses_little(unused);
}

// The smallest stack that works with a plain thread must do here, with the races it meets reported.
static int see_stack(void)
{
    pthread_attr_t attributes;
    pthread_t t[8];

    printf("stack_KiB %zu\n", (used_stack(0) + 1023) / 1024);
    printf("stack_race_KiB %zu\n", (used_stack(1) + 1023) / 1024);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN);
    for (int i = 0; i < 8; i++)
        if (pthread_create(&t[i], &attributes, smallest, NULL))
            return 1;
    for (int i = 0; i < 8; i++)
        pthread_join(t[i], NULL);
    printf("smallest done\n");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "see")) {
        see_process();
        see_errno();
        see_signals();
        see_interrupts();
        see_children(argv[0]);
        see_process();
        return 0;
    }
    if (argc > 1 && !strcmp(argv[1], "inner"))
        return 7;
    if (argc > 2 && !strcmp(argv[1], "end"))
        return end(argv[2], argc > 3);
    if (argc > 2 && !strcmp(argv[1], "confined"))
        return strcmp(argv[2], "seccomp") ? confined(argv[2]) : strict();
    if (argc > 1 && !strcmp(argv[1], "stack"))
        return see_stack();
    return 2;
}
