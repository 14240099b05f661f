// Two phases: each thread writes its half, then reads the other's; without a barrier between, or with one.
#include "two.h"

static pthread_barrier_t barrier;
static long half[2], sum[2];

static void *run(void *given)
{
    const struct two_thread *me = given;

    for (int go_on = 1; go_on;) {
        half[me->number] += 1;
        if (!RACE)
            pthread_barrier_wait(&barrier);
        sum[me->number] += half[1 - me->number];
        if (!RACE) {
            static int decided;
            pthread_barrier_wait(&barrier);
            if (me->number == 0)
                decided = two_goes_on();
            pthread_barrier_wait(&barrier);
            go_on = decided;
        } else {
            go_on = two_goes_on();
            two_pause(20);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_barrier_init(&barrier, NULL, 2);
    return two_run(argc, argv, run);
}
