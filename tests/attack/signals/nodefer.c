// A handler with SA_NODEFER, and a timer, in two threads that lock and unlock.
#include "signals.h"

static atomic_int handled;

static void on_alarm(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    atomic_fetch_add(&handled, 1);
}

int main(int argc, char **argv)
{
    const int count = count_of(argc, argv, 50);
    const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    pthread_t thread;

    handle(SIGALRM, on_alarm, SA_NODEFER | SA_RESTART);
    setitimer(ITIMER_REAL, &often, NULL);
    pthread_create(&thread, NULL, step_until_done, NULL);
    while (atomic_load(&handled) < count)
        step();
    setitimer(ITIMER_REAL, &never, NULL);
    atomic_store(&done, 1);
    pthread_join(thread, NULL);
    puts("done");
}
