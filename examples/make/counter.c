// Two threads count visitors. One of the two counters has a lock, the other was forgotten.
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int visitors, returning;

static void *door(void *unused)
{
    int seen_before = 0;

    for (int i = 0; i < 1000; i++) {
        pthread_mutex_lock(&lock);
        visitors++;
        pthread_mutex_unlock(&lock);
        seen_before += i % 10 == 0;
    }
    returning += seen_before; // the race
    return unused;
}

int main(void)
{
    pthread_t front, back;

    pthread_create(&front, NULL, door, NULL);
    pthread_create(&back, NULL, door, NULL);
    pthread_join(front, NULL);
    pthread_join(back, NULL);
    printf("%d visitors, %d of them returning\n", visitors, returning);
    return 0;
}
