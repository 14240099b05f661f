// A handler that leaves by a jump, with signals queued behind it: each number is handled once, in order.
#include "signals.h"

static sigjmp_buf again;
static volatile int next, disorder;
static atomic_int handled;
static __thread volatile int inside; // between sigsetjmp and the end of the loop

static void on_queued(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    disorder += info->si_value.sival_int != next;
    next = info->si_value.sival_int + 1;
    atomic_fetch_add(&handled, 1);
    if (inside)
        siglongjmp(again, 1);
}

static void *work(void *unused)
{
    sigsetjmp(again, 1);
    inside = 1;
    while (!atomic_load(&done))
        atomic_fetch_add(&steps, 1);
    inside = 0;
    return unused;
}

int main(int argc, char **argv)
{
    const int count = count_of(argc, argv, 500);
    pthread_t thread;

    handle(SIGRTMIN, on_queued, 0);
    pthread_create(&thread, NULL, work, NULL);
    for (int i = 0; i < count; i++)
        queue(thread, SIGRTMIN, i);
    while (atomic_load(&handled) < count)
        sched_yield();
    atomic_store(&done, 1);
    pthread_join(thread, NULL);
    printf("%d come, %d out of order\n", atomic_load(&handled), disorder);
}
