// signal() as strict C has it: SA_RESETHAND | SA_NODEFER. The handler asks for itself again. run.sh builds it with -std=c11.
#undef _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

extern int pthread_kill(pthread_t, int);

enum { USER = 10 };

static atomic_int handled, done;
static atomic_long steps;

static void on_user(int number)
{
    signal(number, on_user);
    atomic_fetch_add(&handled, 1);
}

static void *step_until_done(void *unused)
{
    while (!atomic_load(&done))
        atomic_fetch_add(&steps, 1);
    return unused;
}

int main(int argc, char **argv)
{
    const int count = argc > 1 ? atoi(argv[1]) : 50;
    pthread_t thread;

    signal(USER, on_user);
    pthread_create(&thread, NULL, step_until_done, NULL);
    for (int i = 1; i <= count; i++) {
        pthread_kill(thread, USER);
        while (atomic_load(&handled) < i) // two at once would end even the plain program: the handler is gone in between
            ;
    }
    atomic_store(&done, 1);
    pthread_join(thread, NULL);
    puts("done");
}
