// Prints the CPU time, in nanoseconds, that the first thread of a process has used at its first statement,
// and after it has allowed asynchronous cancellation, as each thread of libomp does.
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static long begun, allowed;

static long thread_cpu(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void *start(void *unused)
{
    const long first = thread_cpu();

    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    const long second = thread_cpu();
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
    begun = first;
    allowed = second;
    return unused;
}

int main(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, start, NULL) || pthread_join(thread, NULL))
        return 1;
    printf("%ld %ld\n", begun, allowed);
    return 0;
}
