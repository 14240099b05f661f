// A job is handed over by a condition variable: the worker looks at it without the mutex, or with it.
#include "two.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long job, done;

static void *run(void *given)
{
    const struct two_thread *me = given;

    while (two_goes_on()) {
        if (me->number == 0) {
            pthread_mutex_lock(&lock);
            job += 1;
            pthread_cond_signal(&changed);
            pthread_mutex_unlock(&lock);
        } else if (RACE) {
            done += job;
            job -= 1;
        } else {
            struct timespec soon;
            clock_gettime(CLOCK_REALTIME, &soon);
            soon.tv_nsec += 1000000;
            soon.tv_sec += soon.tv_nsec / 1000000000;
            soon.tv_nsec %= 1000000000;
            pthread_mutex_lock(&lock);
            if (!job)
                pthread_cond_timedwait(&changed, &lock, &soon);
            done += job;
            job = 0;
            pthread_mutex_unlock(&lock);
        }
        two_pause(20);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    return two_run(argc, argv, run);
}
