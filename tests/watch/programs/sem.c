// A semaphore of one: posted once too often at the start, or as it should be.
#include <semaphore.h>

#include "two.h"

static sem_t sem;
static long shared;

static void *run(void *unused)
{
    (void)unused;
    while (two_goes_on()) {
        sem_wait(&sem);
        shared += 3;
        sem_post(&sem);
        two_pause(20);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    sem_init(&sem, 0, RACE ? 2 : 1);
    return two_run(argc, argv, run);
}
