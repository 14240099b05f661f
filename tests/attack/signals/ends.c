// Queued signals to a process whose threads begin, fork and end all the time: none is lost.
#include "signals.h"

static atomic_int handled;

static void on_queued(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    atomic_fetch_add(&handled, 1);
}

static void *work(void *unused)
{
    for (int i = 0; i < 20; i++)
        step();
    return unused;
}

static void *make_threads(void *unused)
{
    sigset_t none;

    sigemptyset(&none);
    for (int n = 0; !atomic_load(&done); n++) {
        pthread_t thread;
        pthread_sigmask(SIG_SETMASK, &none, NULL);
        if (pthread_create(&thread, NULL, work, NULL) == 0)
            pthread_join(thread, NULL);
        if (n % 16 == 0) {
            const pid_t child = fork();
            if (child == 0) {
                atomic_fetch_add(&steps, 1); // the lock may be held by a thread that the child has not
                _exit(7);
            }
            while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
                ;
        }
    }
    return unused;
}

int main(int argc, char **argv)
{
    const int count = count_of(argc, argv, 1000);
    sigset_t all;
    pthread_t threads[3];

    handle(SIGRTMIN, on_queued, SA_RESTART);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, make_threads, NULL);
    for (int i = 0; i < count; i++)
        while (sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = i}))
            sched_yield();
    while (atomic_load(&handled) < count)
        sched_yield();
    atomic_store(&done, 1);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    printf("%d come\n", atomic_load(&handled));
}
