// A signal that another one's handler blocks, and asks for: sigpending, sigtimedwait, SIG_IGN. Contents are as they were sent.
#include "signals.h"

static atomic_int come, waited, strange;
static volatile int highest;

static void on_second(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    if (info->si_code != SI_QUEUE || info->si_errno)
        atomic_fetch_add(&strange, 1);
    if (info->si_value.sival_int < highest)
        atomic_fetch_add(&strange, 1);
    highest = info->si_value.sival_int;
    atomic_fetch_add(&come, 1);
}

// Its mask has the second number.
static void on_first(int number, siginfo_t *info, void *context)
{
    const struct timespec at_once = {0, 0};
    sigset_t set;

    (void)number, (void)info, (void)context;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 1);
    siginfo_t got;
    step();
    if (info->si_value.sival_int % 3 == 0 && sigtimedwait(&set, &got, &at_once) > 0) {
        if (got.si_code != SI_QUEUE || got.si_value.sival_int < highest)
            atomic_fetch_add(&strange, 1);
        highest = got.si_value.sival_int;
        atomic_fetch_add(&waited, 1);
    }
}

// The first number waits for it: a handler that came between its two statements would be counted before it.
static void handle_second(void)
{
    struct sigaction second = {.sa_sigaction = on_second, .sa_flags = SA_SIGINFO};

    sigaddset(&second.sa_mask, SIGRTMIN);
    if (sigaction(SIGRTMIN + 1, &second, NULL))
        abort();
}

static void *work(void *unused)
{
    while (!atomic_load(&done))
        for (int i = 0; i < 10; i++)
            atomic_fetch_add(&steps, 1);
    return unused;
}

int main(int argc, char **argv)
{
    const int count = count_of(argc, argv, 500);
    struct sigaction first = {.sa_sigaction = on_first, .sa_flags = SA_SIGINFO};
    pthread_t thread;

    sigaddset(&first.sa_mask, SIGRTMIN + 1);
    sigaction(SIGRTMIN, &first, NULL);
    handle_second();
    pthread_create(&thread, NULL, work, NULL);
    for (int i = 0; i < count; i++) {
        queue(thread, SIGRTMIN + 1, i);
        queue(thread, SIGRTMIN, i);
    }
    while (atomic_load(&come) + atomic_load(&waited) < count)
        sched_yield();
    printf("%d come, %d strange\n", count, atomic_load(&strange));
    // Thrown away: whatever was under way, the next one is delivered as it was sent.
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 10; i++)
            queue(thread, SIGRTMIN + 1, 1000000 + round);
        signal(SIGRTMIN + 1, SIG_IGN);
        const long at = atomic_load(&steps);
        while (atomic_load(&steps) < at + 1000) // handlers that had begun are done
            sched_yield();
        handle_second();
        atomic_store(&come, 0);
        queue(thread, SIGRTMIN + 1, 2000000 + round);
        while (!atomic_load(&come))
            sched_yield();
        if (highest != 2000000 + round)
            atomic_fetch_add(&strange, 1);
        highest = 0;
    }
    atomic_store(&done, 1);
    pthread_join(thread, NULL);
    printf("thrown away, %d strange\n", atomic_load(&strange));
}
