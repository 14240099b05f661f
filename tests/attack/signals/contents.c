// siginfo as each way of sending makes it, into a thread that works.
#include "signals.h"

static atomic_int handled, sent; // the second: a call of the kernel by its number is not seen
static siginfo_t last;

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    atomic_load(&sent);
    last = *info;
    atomic_fetch_add(&handled, 1);
}

static void await(int count)
{
    while (atomic_load(&handled) < count)
        sched_yield();
}

int main(int argc, char **argv)
{
    static const int numbers[] = {SIGUSR1, 40};
    const int count = count_of(argc, argv, 5);
    int wrong[5] = {0};
    pthread_t thread;
    sigset_t set;

    sigemptyset(&set);
    for (int i = 0; i < 2; i++) {
        handle(numbers[i], on_signal, SA_RESTART);
        sigaddset(&set, numbers[i]);
    }
    pthread_create(&thread, NULL, step_until_done, NULL);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    for (int n = 0; n < count; n++)
        for (int i = 0; i < 2; i++) {
            const int number = numbers[i], before = atomic_load(&handled);
            pthread_kill(thread, number);
            await(before + 1);
            wrong[0] += last.si_code != SI_TKILL || last.si_pid != getpid() || last.si_uid != getuid() || last.si_errno;
            queue(thread, number, n);
            await(before + 2);
            wrong[1] += last.si_code != SI_QUEUE || last.si_pid != getpid() || last.si_value.sival_int != n || last.si_errno;
            kill(getpid(), number);
            await(before + 3);
            wrong[2] += last.si_code != SI_USER || last.si_pid != getpid() || last.si_uid != getuid() || last.si_errno;
            struct sigevent by = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = number, .sigev_value.sival_int = n};
            const struct itimerspec soon = {{0, 0}, {0, 1000}};
            timer_t timer;
            timer_create(CLOCK_MONOTONIC, &by, &timer);
            timer_settime(timer, 0, &soon, NULL);
            await(before + 4);
            wrong[3] += last.si_code != SI_TIMER || last.si_value.sival_int != n || last.si_overrun || last.si_errno;
            timer_delete(timer);
            siginfo_t own = {.si_signo = number, .si_errno = 77, .si_code = -60, .si_value.sival_int = n};
            atomic_fetch_add(&sent, 1);
            syscall(SYS_rt_sigqueueinfo, getpid(), number, &own);
            await(before + 5);
            wrong[4] += last.si_code != -60 || last.si_value.sival_int != n || last.si_errno != 77;
        }
    atomic_store(&done, 1);
    pthread_join(thread, NULL);
    printf("wrong: tkill %d, queue %d, kill %d, timer %d, own %d\n", wrong[0], wrong[1], wrong[2], wrong[3], wrong[4]);
}
