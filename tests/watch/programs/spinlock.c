// A table of sums: unprotected, or behind a spin lock made of an exchange and a plain store.
#include "two.h"

static char taken;
static long sums[4];

static void *run(void *unused)
{
    (void)unused;
    for (unsigned i = 0; two_goes_on(); i++) {
        while (!RACE && __atomic_exchange_n(&taken, 1, __ATOMIC_ACQUIRE))
            two_pause(1);
        sums[i % 4] += i;
        if (!RACE)
            __atomic_store_n(&taken, 0, __ATOMIC_RELEASE);
        two_pause(20);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    return two_run(argc, argv, run);
}
