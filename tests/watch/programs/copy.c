// A structure is copied as a whole (vector moves): unprotected, or under a mutex.
#include "two.h"

struct state {
    long a, b, c, d;
} state, copy[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *run(void *given)
{
    const struct two_thread *me = given;

    while (two_goes_on()) {
        if (!RACE)
            pthread_mutex_lock(&lock);
        if (me->number == 0) {
            state.a += 1;
            state.d -= 1;
        } else {
            copy[1] = state;
        }
        __asm__ volatile("" ::: "memory");
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
