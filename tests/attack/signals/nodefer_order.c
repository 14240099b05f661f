// Real-time signals whose handler has SA_NODEFER and works: none is lost or comes twice.
#include "signals.h"

static int *seen;
static atomic_int handled;

static void on_queued(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    atomic_fetch_add(&steps, 1);
    __atomic_fetch_add(&seen[info->si_value.sival_int], 1, __ATOMIC_RELAXED);
    atomic_fetch_add(&steps, 1);
    atomic_fetch_add(&handled, 1);
}

int main(int argc, char **argv)
{
    const int count = count_of(argc, argv, 500);
    pthread_t thread;
    int wrong = 0;

    seen = calloc((size_t)count, sizeof(*seen));
    handle(SIGRTMIN, on_queued, SA_NODEFER | SA_RESTART);
    pthread_create(&thread, NULL, step_until_done, NULL);
    for (int i = 0; i < count; i++) {
        queue(thread, SIGRTMIN, i);
        while (atomic_load(&handled) + 8 < i) // so many frames fit the stack
            sched_yield();
    }
    while (atomic_load(&handled) < count)
        sched_yield();
    atomic_store(&done, 1);
    pthread_join(thread, NULL);
    for (int i = 0; i < count; i++)
        wrong += __atomic_load_n(&seen[i], __ATOMIC_RELAXED) != 1;
    printf("%d come, %d not once\n", atomic_load(&handled), wrong);
}
