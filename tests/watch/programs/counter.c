// A counter: by itself, or under a mutex.
#include "two.h"

static long counter;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *run(void *unused)
{
    (void)unused;
    while (two_goes_on()) {
        if (!RACE)
            pthread_mutex_lock(&lock);
        counter++;
        if (!RACE)
            pthread_mutex_unlock(&lock);
        two_pause(20);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    return two_run(argc, argv, run);
}
