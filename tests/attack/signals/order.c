// Queued real-time signals arrive in the order in which they were sent, with what was sent with them: to a thread, to the
// process, and where the limit of queued signals is low.
#include "signals.h"

static volatile int next[2], disorder[2], strange;
static atomic_int handled[2];

static void on_queued(int number, siginfo_t *info, void *context)
{
    const int i = number - SIGRTMIN;

    (void)context;
    disorder[i] += info->si_value.sival_int != next[i];
    next[i] = info->si_value.sival_int + 1;
    strange += info->si_code != SI_QUEUE || info->si_pid != getpid() || info->si_errno || info->si_signo != number;
    atomic_fetch_add(&handled[i], 1);
}

static void run(const char *name, int count, bool to_process)
{
    sigset_t both;
    pthread_t thread;

    sigemptyset(&both);
    sigaddset(&both, SIGRTMIN);
    sigaddset(&both, SIGRTMIN + 1);
    for (int i = 0; i < 2; i++) {
        next[i] = disorder[i] = 0;
        atomic_store(&handled[i], 0);
    }
    atomic_store(&done, 0);
    pthread_create(&thread, NULL, step_until_done, NULL);
    pthread_sigmask(SIG_BLOCK, &both, NULL);
    for (int i = 0; i < count; i++)
        for (int n = 0; n < 2; n++)
            if (to_process)
                while (sigqueue(getpid(), SIGRTMIN + n, (union sigval){.sival_int = i}))
                    sched_yield();
            else
                queue(thread, SIGRTMIN + n, i);
    while (atomic_load(&handled[0]) < count || atomic_load(&handled[1]) < count)
        sched_yield();
    atomic_store(&done, 1);
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_UNBLOCK, &both, NULL);
    printf("%s: %d and %d come, %d and %d out of order, %d strange\n", name, atomic_load(&handled[0]),
           atomic_load(&handled[1]), disorder[0], disorder[1], strange);
}

int main(int argc, char **argv)
{
    const int count = count_of(argc, argv, 500);
    const struct rlimit few = {12, 12};

    handle(SIGRTMIN, on_queued, SA_RESTART);
    handle(SIGRTMIN + 1, on_queued, SA_RESTART);
    run("thread", count, false);
    run("process", count, true);
    // Of a user: one that nobody else is.
    if (setrlimit(RLIMIT_SIGPENDING, &few) == 0 && (getuid() || setuid(100000 + (uid_t)getpid()) == 0))
        run("limit", count, false);
}
