// A hash that both threads stir, with shifts of memory, which no compiler makes of an atomic: unprotected, or
// under a spin lock of libc's.
#include "two.h"

static unsigned long hash = 88172645463325252;
static pthread_spinlock_t lock;

static void *run(void *unused)
{
    (void)unused;
    while (two_goes_on()) {
        if (!RACE)
            pthread_spin_lock(&lock);
        hash >>= 1;
        __asm__ volatile("" ::: "memory");
        hash |= 1ul << 63;
        if (!RACE)
            pthread_spin_unlock(&lock);
        two_pause(20);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_spin_init(&lock, 0);
    return two_run(argc, argv, run);
}
