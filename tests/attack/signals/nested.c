// SA_NODEFER: what sigaction answers, and how deep a handler nests in itself when it sends itself the signal. With the number in
// its own sa_mask, without the flag, by sigset, after siginterrupt, and where the kernel was asked directly.
#include "signals.h"

static volatile int depth, deepest, raised;

static void on_user(int number)
{
    if (++depth > deepest)
        deepest = depth;
    if (raised++ < 5) {
        step();
        raise(number);
        step();
    }
    depth--;
}

static void report(const char *name, int number)
{
    struct sigaction now;
    sigset_t mask;

    depth = deepest = raised = 0;
    raise(number);
    sigaction(number, NULL, &now);
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    printf("%s: depth %d, flags %x, ours %d, masks itself %d, blocked after it %d\n", name, deepest,
           (unsigned)now.sa_flags & ~0x04000000u, now.sa_handler == on_user, sigismember(&now.sa_mask, number),
           sigismember(&mask, number));
}

static void *in_thread(void *unused)
{
    static const int numbers[] = {SIGUSR1, SIGTERM, 40, SIGTRAP, SIGSEGV};

    for (int i = 0; i < 5; i++)
        for (int flags = 0; flags < 8; flags++) {
            struct sigaction a = {.sa_handler = on_user,
                                  .sa_flags = (flags & 1 ? SA_NODEFER : 0) | (flags & 2 ? SA_RESTART : 0)};
            char name[64];
            if (flags & 4)
                sigaddset(&a.sa_mask, numbers[i]);
            snprintf(name, sizeof(name), "sigaction %d %d", numbers[i], flags);
            sigaction(numbers[i], &a, NULL);
            report(name, numbers[i]);
            siginterrupt(numbers[i], flags & 2);
            report("  siginterrupt", numbers[i]);
            struct sigaction again;
            sigaction(numbers[i], NULL, &again);
            sigaction(numbers[i], &again, NULL);
            report("  given back", numbers[i]);
        }
    return unused;
}

static void raw(int number, unsigned long flags)
{
    struct {
        void (*handler)(int);
        unsigned long flags;
        void *restorer;
        unsigned long mask;
    } a = {on_user, 0, NULL, 0}, now;

    // libc's own return from a handler
    struct sigaction some = {.sa_handler = on_user};
    sigaction(SIGWINCH, &some, NULL);
    syscall(SYS_rt_sigaction, SIGWINCH, NULL, &now, 8);
    a.restorer = now.restorer;
    a.flags = (now.flags & 0x04000000) | flags;
    syscall(SYS_rt_sigaction, number, &a, NULL, 8);
}

int main(void)
{
    pthread_t thread;

    in_thread(NULL);
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
    sigset(SIGUSR1, on_user);
    report("sigset", SIGUSR1);
    raw(SIGUSR2, SA_NODEFER);
    report("raw", SIGUSR2);
    raw(SIGUSR2, 0);
    report("raw, deferred", SIGUSR2);
}
