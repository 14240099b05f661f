/* ways WAY: things that a program may do while its code has int3s in it. Two threads add under a lock all the
 * while.
 *
 * - fork: children that run the same code, and end by themselves
 * - vfork: children that run the same code in the parent's memory, then exec
 * - clone: children by clone, with and without shared memory
 * - suspend: handlers that run with all signals blocked, SIGTRAP among them, by sigsuspend, ppoll, sa_mask and masks
 * - masks: what the program asks of masks and handlers is what it is told
 * - own: an int3 and an int1 of the program's own, with a handler; a SIGTRAP that is sent while it is blocked
 * - seccomp: a filter that allows next to nothing
 * - quick: ends by quick_exit; _exit: by _exit; main: the main thread ends first
 * - daemon: closes everything, forks, and the child goes on with threads
 * - altstack: handlers on a small stack of their own
 * - pthread_exit: threads end in all ways there are
 */
#define _GNU_SOURCE
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // sighold and the like
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long table[256], wrong;
static volatile int stop;
static volatile sig_atomic_t handled;

__attribute__((noinline)) static void step(unsigned i)
{
    table[i % 256] += i;
    table[(i * 7) % 256] ^= table[i % 256];
    if (table[i % 256] & 1)
        table[(i + 3) % 256] -= 5;
}

__attribute__((noinline)) static void own_steps(long *t, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        t[i % 16] += i;
        t[(i * 5) % 16] ^= t[i % 16];
    }
}

static void *work(void *unused)
{
    long mine[16] = {0};

    for (unsigned i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
        pthread_mutex_lock(&lock);
        step(i);
        pthread_mutex_unlock(&lock);
        own_steps(mine, 10);
    }
    return unused;
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void expect(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "ways: %s\n", what);
        wrong++;
    }
}

static void in_child(void)
{
    long mine[16] = {0};

    for (unsigned i = 0; i < 2000; i++)
        step(i);
    own_steps(mine, 2000);
}

static void wait_for(pid_t pid, int want)
{
    int status = -1;

    while (waitpid(pid, &status, __WALL) < 0 && errno == EINTR)
        ;
    expect(WIFEXITED(status) && WEXITSTATUS(status) == want, "a child ended in another way");
}

static int cloned(void *unused)
{
    in_child();
    (void)unused;
    syscall(SYS_exit, 7);
    return 7;
}

static void way_clone(void)
{
    static char stack[65536] __attribute__((aligned(16)));
    const pid_t pid = clone(cloned, stack + sizeof(stack), SIGCHLD, NULL);

    wait_for(pid, 7);
    wait_for(clone(cloned, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL), 7);
    wait_for((pid_t)syscall(SYS_fork) ?: (in_child(), _exit(5), 0), 5);
}

static void on_signal(int number)
{
    (void)number;
    for (unsigned i = 0; i < 200; i++) {
        static long t[16];
        own_steps(t, 3);
    }
    handled++;
}

static void way_suspend(void)
{
    struct sigaction a = {.sa_handler = on_signal};
    sigset_t all, most;

    sigfillset(&all);
    a.sa_mask = all;
    sigaction(SIGUSR1, &a, NULL);
    most = all;
    sigdelset(&most, SIGUSR1);
    sigprocmask(SIG_SETMASK, &all, NULL);
    for (int i = 0; i < 20; i++) {
        const struct timespec second = {1, 0};
        pthread_kill(pthread_self(), SIGUSR1);
        if (i & 1)
            sigsuspend(&most);
        else
            ppoll(NULL, 0, &second, &most);
    }
    sigemptyset(&most);
    sigaddset(&most, SIGUSR1);
    for (int i = 0; i < 2000; i++) { // the change of the mask lets the handler run
        pthread_sigmask(SIG_BLOCK, &all, NULL);
        pthread_kill(pthread_self(), SIGUSR1);
        if (i & 1)
            pthread_sigmask(SIG_UNBLOCK, &most, NULL);
        else
            syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &most, NULL, 8);
    }
    sigemptyset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    expect(handled > 0, "no handler has run");
}

static void way_masks(void)
{
    struct sigaction a = {.sa_handler = on_signal}, old;
    sigset_t all, before, none;
    siginfo_t info;

    sigfillset(&all);
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    expect(!sigismember(&before, SIGTRAP), "SIGTRAP was blocked before");
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    expect(sigismember(&before, SIGTRAP) == 1, "SIGTRAP is not blocked after sigfillset");
    own_steps((long[16]){0}, 1000);
    pthread_sigmask(SIG_SETMASK, &none, &before);
    expect(sigismember(&before, SIGTRAP) == 1, "SIGTRAP was forgotten");
    a.sa_mask = all;
    sigaction(SIGUSR2, &a, NULL);
    sigaction(SIGUSR2, NULL, &old);
    expect(sigismember(&old.sa_mask, SIGTRAP) == 1, "the mask of a handler was changed");
    sigaction(SIGTRAP, &a, NULL);
    sigaction(SIGTRAP, NULL, &old);
    expect(old.sa_handler == on_signal, "another handler of SIGTRAP than asked for");
    expect(signal(SIGTRAP, SIG_DFL) == on_signal, "signal() gives another handler");
    sigaction(SIGTRAP, NULL, &old);
    expect(sigismember(&old.sa_mask, SIGTRAP) == 1, "signal() gives another mask");
    expect(signal(SIGUSR2, on_signal) == on_signal && sigaction(SIGUSR2, NULL, &old) == 0, "no signal()");
    expect(sigismember(&old.sa_mask, SIGTRAP) == 0, "the mask of a handler before signal() was kept");
    expect(sighold(SIGTRAP) == 0 && sigset(SIGTRAP, SIG_DFL) == SIG_HOLD, "sighold() was forgotten");
    expect(sigignore(SIGTRAP) == 0 && raise(SIGTRAP) == 0, "sigignore() did nothing");
    own_steps((long[16]){0}, 1000);
    expect(signal(SIGTRAP, SIG_DFL) == SIG_IGN, "signal() gives another handler than sigignore() has set");
    (void)info;
}

// Some processors, or what makes them believe that they are ones, have the program counter before an int1.
static void on_trap(int number, siginfo_t *info, void *context)
{
    ucontext_t *u = context;

    (void)info;
    on_signal(number);
    u->uc_mcontext.gregs[REG_RIP] += *(const uint8_t *)u->uc_mcontext.gregs[REG_RIP] == 0xf1;
    errno = ELOOP;
}

static void way_own(void)
{
    struct sigaction a = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO};
    sigset_t trap, none;

    sigaction(SIGTRAP, &a, NULL);
    for (int i = 0; i < 50; i++) {
        __asm__ volatile("int3");
        own_steps((long[16]){0}, 100);
        __asm__ volatile("int1");
        own_steps((long[16]){0}, 100);
    }
    expect(handled == 100, "an own int3 or int1 was lost");
    errno = 0;
    raise(SIGTRAP);
    expect(handled-- == 101 && errno == ELOOP, "the handler's errno was changed");
    sigemptyset(&none);
    sigemptyset(&trap);
    sigaddset(&trap, SIGTRAP);
    pthread_sigmask(SIG_BLOCK, &trap, NULL);
    pthread_kill(pthread_self(), SIGTRAP);
    own_steps((long[16]){0}, 100);
    expect(handled == 100, "a blocked SIGTRAP came through");
    pthread_sigmask(SIG_UNBLOCK, &trap, NULL);
    own_steps((long[16]){0}, 100);
    expect(handled == 101, "a SIGTRAP was lost");
    signal(SIGTRAP, SIG_IGN);
    raise(SIGTRAP);
}

// What threads that add under a lock need, and writing and ending; everything else is the end.
static void way_seccomp(void)
{
#define ALLOW(n) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (n), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_futex),
        ALLOW(SYS_write),
        ALLOW(SYS_exit_group),
        ALLOW(SYS_exit),
        ALLOW(SYS_rt_sigreturn),
        ALLOW(SYS_rt_sigprocmask),
        ALLOW(SYS_clock_nanosleep),
        ALLOW(SYS_munmap),
        ALLOW(SYS_madvise),
        ALLOW(SYS_newfstatat),
        ALLOW(SYS_restart_syscall),
        ALLOW(SYS_rseq),
        ALLOW(SYS_set_robust_list),
        ALLOW(SYS_getpid),
        ALLOW(SYS_gettid),
        ALLOW(SYS_brk),
        ALLOW(SYS_sched_yield),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
        expect(0, "no filter");
    struct timespec t = {0, 200000000};
    nanosleep(&t, NULL);
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    nanosleep(&t, NULL);
    expect(write(1, "done\n", 5) == 5, "write");
    syscall(SYS_exit_group, wrong ? 1 : 0);
}

static void *ends(void *how)
{
    own_steps((long[16]){0}, 100);
    if (how)
        pthread_exit(NULL);
    return NULL;
}

static void threads_end(void)
{
    pthread_t t[4];

    for (long i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, ends, (void *)(i & 1));
    pthread_cancel(t[2]);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
}

static void *finish(void *unused)
{
    struct timespec t = {0, 300000000};

    nanosleep(&t, NULL);
    puts("done");
    fflush(stdout);
    (void)unused;
    return NULL;
}

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "none";
    const double seconds = argc > 2 ? atof(argv[2]) : 0.5;
    pthread_t t[2], last;

    if (!strcmp(way, "daemon")) {
        in_child();
        for (int fd = 3; fd < 1024; fd++)
            close(fd);
        const pid_t pid = fork();
        if (pid)
            wait_for(pid, 0);
        if (pid)
            return wrong != 0;
        setsid();
    }
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, work, NULL);
    const double end = now() + seconds;
    while (now() < end) {
        if (!strcmp(way, "fork")) {
            const pid_t pid = fork();
            if (pid == 0) {
                in_child();
                _exit(3);
            }
            wait_for(pid, 3);
        } else if (!strcmp(way, "vfork")) {
            const pid_t pid = vfork();
            if (pid == 0) {
                static long t2[16];
                own_steps(t2, 500);
                execl("/bin/true", "true", NULL);
                _exit(1);
            }
            wait_for(pid, 0);
        } else if (!strcmp(way, "clone")) {
            way_clone();
        } else if (!strcmp(way, "suspend")) {
            way_suspend();
        } else if (!strcmp(way, "masks")) {
            way_masks();
        } else if (!strcmp(way, "pthread_exit")) {
            threads_end();
        } else if (!strcmp(way, "altstack")) {
            static char room[16384];
            const stack_t s = {.ss_sp = room, .ss_size = sizeof(room)};
            struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
            sigaltstack(&s, NULL);
            sigaction(SIGUSR1, &a, NULL);
            raise(SIGUSR1);
        } else {
            struct timespec tick = {0, 10000000};
            own_steps((long[16]){0}, 1000);
            nanosleep(&tick, NULL);
        }
    }
    if (!strcmp(way, "own"))
        way_own();
    if (!strcmp(way, "seccomp"))
        way_seccomp();
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    if (!strcmp(way, "main") && !wrong) {
        pthread_create(&last, NULL, finish, NULL);
        pthread_exit(NULL);
    }
    puts(wrong ? "wrong" : "done");
    fflush(stdout);
    if (!strcmp(way, "quick"))
        quick_exit(wrong != 0);
    if (!strcmp(way, "_exit"))
        _exit(wrong != 0);
    return wrong != 0;
}
