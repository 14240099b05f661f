// A sum of doubles: unprotected, or a C11 mutex around it.
#include <threads.h>

#include "two.h"

static double sum;
static mtx_t lock;

static void *run(void *unused)
{
    (void)unused;
    while (two_goes_on()) {
        if (!RACE)
            mtx_lock(&lock);
        sum = sum * 0.5 + 1;
        __asm__ volatile("" ::: "memory");
        if (!RACE)
            mtx_unlock(&lock);
        two_pause(20);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    mtx_init(&lock, mtx_plain);
    return two_run(argc, argv, run);
}
