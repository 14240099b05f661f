// Signals: what sigaction says, what a handler is given, masks, pending signals, EINTR.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "see.h"

static unsigned long mask_word(const sigset_t *set)
{
    unsigned long w = 0;

    for (int i = 1; i < 64; i++)
        if (sigismember(set, i) == 1)
            w |= 1ul << i;
    return w;
}

static unsigned long blocked(void)
{
    sigset_t now;

    pthread_sigmask(SIG_SETMASK, NULL, &now);
    return mask_word(&now);
}

static char alternate[65536];
static volatile struct {
    int count, number, code, value, self, on_alternate, error;
    unsigned long mask;
} seen;

static void note(int number)
{
    char here;

    seen.count++;
    seen.number = number;
    seen.on_alternate = &here >= alternate && &here < alternate + sizeof(alternate);
    seen.mask = blocked();
    seen.error = errno;
    errno = 99; // the handler's, not the program's
}

static void simple(int number)
{
    const int saved = errno;

    note(number);
    errno = saved;
}

static void with_info(int number, siginfo_t *info, void *context)
{
    const int saved = errno;

    note(number);
    seen.code = info->si_code;
    seen.value = info->si_code == SI_QUEUE ? info->si_value.sival_int : 0;
    seen.self = info->si_pid == getpid();
    seen.mask ^= context ? 0 : ~0ul;
    errno = saved;
}

static void see_action(const char *what, int number)
{
    struct sigaction a;

    sigaction(number, NULL, &a);
    SEE("action", "%s: flags %x mask %lx handler %s", what, (unsigned)a.sa_flags & ~0x04000000u,
        mask_word(&a.sa_mask),
        a.sa_handler == SIG_DFL   ? "default"
        : a.sa_handler == SIG_IGN ? "ignored"
        : a.sa_flags & SA_SIGINFO ? (a.sa_sigaction == with_info ? "with_info" : "other")
        : a.sa_handler == simple  ? "simple"
                                  : "other");
}

static void see_handler(const char *what)
{
    SEE("handler", "%s: %d of %d code %d value %d self %d alternate %d mask %lx errno %d", what, seen.count,
        seen.number, seen.code, seen.value, seen.self, seen.on_alternate, seen.mask, seen.error);
}

static void see_actions(void)
{
    static const int flags[] = {0,
                                SA_RESTART,
                                SA_NODEFER,
                                SA_ONSTACK,
                                SA_RESETHAND,
                                SA_SIGINFO,
                                SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    struct sigaction a, old;

    for (int i = 1; i < 32; i++)
        see_action("at the start", i);
    stack_t s = {.ss_sp = alternate, .ss_size = sizeof(alternate)}, before;
    sigaltstack(&s, &before);
    SEE("alternate stack before", "%x", (unsigned)before.ss_flags);
    for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        memset(&a, 0, sizeof(a));
        a.sa_flags = flags[i];
        sigemptyset(&a.sa_mask);
        sigaddset(&a.sa_mask, SIGUSR2);
        if (flags[i] & SA_SIGINFO)
            a.sa_sigaction = with_info;
        else
            a.sa_handler = simple;
        SEE("sigaction", "%d", sigaction(SIGUSR1, &a, &old));
        see_action("SIGUSR1", SIGUSR1);
        errno = 4711;
        raise(SIGUSR1);
        SEE("errno", "%d after raise", errno);
        see_handler("raise");
        see_action("after it", SIGUSR1);
        if (flags[i] & SA_RESETHAND)
            sigaction(SIGUSR1, &a, NULL);
        sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 42});
        see_handler("sigqueue");
        SEE("blocked", "%lx", blocked());
    }
    SEE("signal", "%d", signal(SIGUSR1, SIG_IGN) == SIG_ERR);
    see_action("ignored", SIGUSR1);
    raise(SIGUSR1);
    see_handler("ignored");
    const int was_ignored = signal(SIGUSR1, simple) == SIG_IGN;
    SEE("signal", "%d %d", was_ignored, signal(SIGUSR1, SIG_DFL) == simple);
    see_action("default", SIGUSR1);
    // What a program reads of one that was reset, and gives back, is the default and no handler.
    a.sa_flags = SA_SIGINFO;
    a.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &a, NULL);
    raise(SIGCHLD);
    see_action("default with information", SIGCHLD);
    a.sa_handler = SIG_IGN;
    sigaction(SIGUSR2, &a, NULL);
    raise(SIGUSR2);
    see_action("ignored with information", SIGUSR2);
    SEE("refused", "%d %d %d", sigaction(SIGKILL, &a, NULL), sigaction(999, &a, NULL),
        signal(SIGSTOP, simple) == SIG_ERR);
}

static void see_pending(void)
{
    sigset_t set, pending;
    siginfo_t info;
    struct timespec soon = {0, 1000};
    int got = 0;

    signal(SIGUSR1, simple);
    signal(SIGUSR2, simple);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    SEE("blocked", "%lx", blocked());
    const int before = seen.count;
    raise(SIGUSR1);
    sigpending(&pending);
    SEE("pending", "%lx, handlers %d", mask_word(&pending), seen.count - before);
    sigwait(&set, &got);
    SEE("sigwait", "%d", got);
    sigqueue(getpid(), SIGUSR2, (union sigval){.sival_int = 7});
    got = sigwaitinfo(&set, &info);
    SEE("sigwaitinfo", "%d value %d", got, info.si_value.sival_int);
    errno = 0;
    got = sigtimedwait(&set, &info, &soon);
    SEE("sigtimedwait", "%d errno %d", got, errno);
    const int fd = signalfd(-1, &set, SFD_NONBLOCK);
    struct signalfd_siginfo from;
    raise(SIGUSR1);
    got = (int)read(fd, &from, sizeof(from));
    SEE("signalfd", "%d: %d, signal %u code %d", fd, got, from.ssi_signo, from.ssi_code);
    got = (int)read(fd, &from, sizeof(from));
    SEE("signalfd empty", "%d errno %d", got, errno);
    close(fd);
    raise(SIGUSR1);
    sigset_t none;
    sigemptyset(&none);
    got = sigsuspend(&none);
    SEE("sigsuspend", "%d errno %d handlers %d", got, errno, seen.count - before);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    SEE("blocked", "%lx", blocked());
}

static void *in_thread(void *unused)
{
    SEE("blocked in a thread", "%lx", blocked());
    return unused;
}

static void see_thread_masks(void)
{
    pthread_t t;
    sigset_t set;

    pthread_create(&t, NULL, in_thread, NULL);
    pthread_join(t, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGRTMIN + 1);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    pthread_create(&t, NULL, in_thread, NULL);
    pthread_join(t, NULL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void see_stack(const char *what, const char *mine)
{
    stack_t now;

    SEE(what, "%d", sigaltstack(NULL, &now));
    SEE(what, "flags %x size %zu mine %d", (unsigned)now.ss_flags, now.ss_size, now.ss_sp == mine);
}

static char *small_stack;
static unsigned deep;
static stack_t on_it;
static int refused;

static void on_small_stack(int number) // no room to print
{
    stack_t none = {.ss_flags = SS_DISABLE};

    deep += (unsigned)number;
    sigaltstack(NULL, &on_it);
    refused = sigaltstack(&none, NULL) ? errno : 0;
}

// As small as a handler can do with, whose frame holds all of the processor's registers, with nothing below
// it that could be written to.
static void *see_small_stack(void *unused)
{
    enum { PAGE = 4096, HANDLER = 1024 };
    const size_t size = getauxval(AT_MINSIGSTKSZ) + HANDLER, room = PAGE + size;
    struct sigaction a = {.sa_handler = on_small_stack, .sa_flags = SA_ONSTACK}, before;
    char *pages = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t s = {.ss_sp = pages + PAGE, .ss_size = size}, old;

    if (pages == MAP_FAILED || mprotect(pages, PAGE, PROT_NONE))
        abort();
    small_stack = pages + PAGE;
    see_stack("small stack, before", small_stack);
    SEE("small stack", "%d", sigaltstack(&s, &old) ? errno : 0);
    see_stack("small stack", small_stack);
    sigaction(SIGUSR1, &a, &before);
    for (int i = 0; i < 3; i++)
        raise(SIGUSR1);
    sigaction(SIGUSR1, &before, NULL);
    SEE("handled", "%u, flags %x size %zu mine %d, another %d", deep, (unsigned)on_it.ss_flags, on_it.ss_size,
        on_it.ss_sp == small_stack, refused);
    s.ss_size = 1024;
    SEE("too small", "%d", sigaltstack(&s, NULL) ? errno : 0);
    s.ss_flags = SS_DISABLE;
    SEE("small stack, no more", "%d", sigaltstack(&s, &old) ? errno : 0);
    SEE("small stack, was", "flags %x size %zu mine %d", (unsigned)old.ss_flags, old.ss_size,
        old.ss_sp == small_stack);
    see_stack("small stack, after", NULL);
    munmap(pages, room);
    return unused;
}

static void see_small_stacks(void)
{
    pthread_t thread;

    see_small_stack(NULL);
    for (int i = 0; i < 3; i++) {
        pthread_create(&thread, NULL, see_small_stack, NULL);
        pthread_join(thread, NULL);
    }
}

void see_signals(void)
{
    SEE("blocked at the start", "%lx", blocked());
    see_actions();
    see_pending();
    see_thread_masks();
    see_small_stacks();
}

// ---- EINTR ---------------------------------------------------------------------------------------------

static int fds[2];

static void writes(int number)
{
    const int saved = errno;

    note(number);
    if (write(fds[1], "w", 1) != 1)
        seen.count += 1000;
    errno = saved;
}

// One signal in 20 ms, and a call that waits: what it returns and how often a handler ran.
static void arm(void (*handler)(int), int flags)
{
    struct sigaction a = {.sa_handler = handler, .sa_flags = flags};
    struct itimerval once = {{0, 0}, {0, 20000}};

    sigemptyset(&a.sa_mask);
    sigaction(SIGALRM, &a, NULL);
    seen.count = 0;
    errno = 0;
    setitimer(ITIMER_REAL, &once, NULL);
}

void see_interrupts(void)
{
    struct timespec second = {1, 0}, rest = {0, 0};
    char c = 0;
    sem_t s;

    if (pipe(fds))
        return;
    sem_init(&s, 0, 0);
    arm(simple, 0);
    int r = nanosleep(&second, &rest);
    SEE("nanosleep", "%d errno %d, time left %d, handlers %d", r, errno, rest.tv_nsec > 0, seen.count);
    arm(simple, 0);
    r = (int)read(fds[0], &c, 1);
    SEE("read", "%d errno %d, handlers %d", r, errno, seen.count);
    arm(writes, SA_RESTART);
    r = (int)read(fds[0], &c, 1);
    SEE("read again", "%d errno %d byte %c, handlers %d", r, errno, c, seen.count);
    arm(simple, 0);
    r = sem_wait(&s);
    SEE("sem_wait", "%d errno %d, handlers %d", r, errno, seen.count);
    arm(simple, 0);
    r = usleep(500000);
    SEE("usleep", "%d errno %d, handlers %d", r, errno, seen.count);
    arm(simple, 0);
    r = pause();
    SEE("pause", "%d errno %d, handlers %d", r, errno, seen.count);
    // A hundred signals while this thread works and races are met: each handler runs once, nothing is lost.
    signal(SIGUSR1, simple);
    seen.count = 0;
    for (int i = 0; i < 100; i++) {
        raise(SIGUSR1);
        if (i % 10 == 0)
            meet_race();
    }
    SEE("a hundred signals", "%d", seen.count);
    close(fds[0]);
    close(fds[1]);
}
