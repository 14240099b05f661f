// A message with a flag: of plain variables, or with a flag that is stored with release and loaded with
// acquire. The twin is ordered by nothing but plain moves.
#include "two.h"

static int ready;
static long message;

static void *run(void *given)
{
    const struct two_thread *me = given;
    long sum = 0;

    while (two_goes_on()) {
        if (me->number == 0 &&
            !(RACE ? *(volatile int *)&ready : __atomic_load_n(&ready, __ATOMIC_ACQUIRE))) {
            message += 3;
            if (RACE)
                ready = 1;
            else
                __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
        }
        if (me->number == 1 && (RACE ? *(volatile int *)&ready : __atomic_load_n(&ready, __ATOMIC_ACQUIRE))) {
            sum += message;
            if (RACE)
                *(volatile int *)&ready = 0;
            else
                __atomic_store_n(&ready, 0, __ATOMIC_RELEASE);
        }
        if (RACE && me->number == 1)
            message ^= 1; // also without being asked
        two_pause(10);
    }
    return (void *)sum;
}

int main(int argc, char **argv)
{
    return two_run(argc, argv, run);
}
