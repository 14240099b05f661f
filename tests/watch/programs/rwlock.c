// A read-write lock: the writer has it for reading, or for writing.
#include "two.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static long value, seen;

static void *run(void *given)
{
    const struct two_thread *me = given;

    while (two_goes_on()) {
        if (me->number == 0 && !RACE)
            pthread_rwlock_wrlock(&lock);
        else
            pthread_rwlock_rdlock(&lock);
        if (me->number == 0)
            value += 5;
        else
            seen += value;
        pthread_rwlock_unlock(&lock);
        two_pause(20);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    return two_run(argc, argv, run);
}
