// A library with a race that every call has; it needs the shared runtime.
#include <pthread.h>
#include <stdio.h>

void work(void);
static int shared;

static void *add(void *unused)
{
    shared++;
    return unused;
}

void work(void)
{
    pthread_t a, b;

    if (pthread_create(&a, NULL, add, NULL) || pthread_create(&b, NULL, add, NULL))
        return;
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("worked\n");
    fflush(stdout);
}
