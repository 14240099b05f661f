// Signals of several numbers that come at once leave the thread's mask as it was, and a handler finds the mask it asked for.
#include "signals.h"

enum { NUMBERS = 4 };
static const int numbers[NUMBERS] = {SIGUSR1, SIGUSR2, SIGALRM, 40};
static atomic_int handled[NUMBERS], wrong;

static int blocked_now(void)
{
    sigset_t mask;
    int blocked = 0;

    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    for (int i = 0; i < NUMBERS; i++)
        blocked |= sigismember(&mask, numbers[i]) << i;
    return blocked;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)info, (void)context;
    for (int i = 0; i < NUMBERS; i++)
        if (numbers[i] == number) {
            if (i < 2 && !(blocked_now() & 1 << i))
                atomic_fetch_add(&wrong, 1);
            atomic_fetch_add(&handled[i], 1);
        }
}

static void *work(void *unused)
{
    while (!atomic_load(&done)) {
        for (int i = 0; i < 100; i++) {
            pthread_mutex_lock(&lock);
            pthread_mutex_unlock(&lock);
            atomic_fetch_add(&steps, 1);
        }
        if (blocked_now())
            atomic_fetch_add(&wrong, 1);
    }
    return unused;
}

int main(int argc, char **argv)
{
    const int count = count_of(argc, argv, 60);
    pthread_t thread;

    for (int i = 0; i < NUMBERS; i++)
        handle(numbers[i], on_signal, SA_RESTART | (i > 1 ? SA_NODEFER : 0));
    pthread_create(&thread, NULL, work, NULL);
    for (int n = 1; n <= count; n++) {
        for (int i = 0; i < NUMBERS; i++)
            pthread_kill(thread, numbers[i]);
        for (int i = 0; i < NUMBERS; i++)
            while (atomic_load(&handled[i]) < n)
                sched_yield();
    }
    atomic_store(&done, 1);
    pthread_join(thread, NULL);
    printf("%d wrong\n", atomic_load(&wrong));
}
