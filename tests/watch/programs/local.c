// Two threads use a variable on the stack of a third: unprotected, or under a mutex.
#include "two.h"

struct shared {
    pthread_mutex_t lock;
    long value;
};
static struct shared *where;

static void *run(void *unused)
{
    struct shared *s = where;

    (void)unused;
    while (two_goes_on()) {
        if (!RACE)
            pthread_mutex_lock(&s->lock);
        s->value += 2;
        if (!RACE)
            pthread_mutex_unlock(&s->lock);
        two_pause(20);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct shared s = {PTHREAD_MUTEX_INITIALIZER, 0};

    where = &s;
    return two_run(argc, argv, run);
}
