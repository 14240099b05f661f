// A counter that may lose: `x++`, or a relaxed load and a relaxed store. Of the latter, which has no race,
// clang makes the instruction that it makes of the former.
#include "two.h"

static unsigned long counter;

static void *run(void *unused)
{
    (void)unused;
    while (two_goes_on()) {
        if (RACE)
            counter++;
        else
            __atomic_store_n(&counter, __atomic_load_n(&counter, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
        two_pause(20);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    return two_run(argc, argv, run);
}
