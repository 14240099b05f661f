// Statistics: plain, or relaxed atomic additions.
#include "two.h"

static unsigned long hits, misses;

static void *run(void *unused)
{
    (void)unused;
    while (two_goes_on()) {
        if (RACE) {
            hits += 2;
            misses++;
        } else {
            __atomic_fetch_add(&hits, 2, __ATOMIC_RELAXED);
            __atomic_fetch_add(&misses, 1, __ATOMIC_RELAXED);
        }
        two_pause(20);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    return two_run(argc, argv, run);
}
