// A race that every run has. Prints the real and the effective user, then "done".
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static int shared;

static void *work(void *unused)
{
    shared++;
    return unused;
}

int main(void)
{
    pthread_t a, b;

    if (pthread_create(&a, NULL, work, NULL) || pthread_create(&b, NULL, work, NULL))
        return 3;
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("user %u %u\ndone\n", (unsigned)getuid(), (unsigned)geteuid());
    return 0;
}
