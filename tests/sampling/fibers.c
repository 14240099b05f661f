// fibers SECONDS: one thread with two fibers, which does work of its own for so long, and then meets code that races: each
// fiber writes a word, and switches that order nothing lie between.
#include <sanitizer/tsan_interface.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile long work, shared[64];

static double seconds_used(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static __attribute__((noinline)) void write_shared(int i)
{
    shared[i]++;
}

int main(int argc, char **argv)
{
    const double long_enough = argc > 1 ? atof(argv[1]) : 1;
    void *const own = __tsan_get_current_fiber(), *const fiber = __tsan_create_fiber(0);

    while (seconds_used() < long_enough)
        for (int i = 0; i < 1000; i++)
            work++;
    for (int i = 0; i < 64; i++) {
        write_shared(i);
        __tsan_switch_to_fiber(fiber, __tsan_switch_to_fiber_no_sync);
        write_shared(i);
        __tsan_switch_to_fiber(own, __tsan_switch_to_fiber_no_sync);
    }
    __tsan_destroy_fiber(fiber);
    puts("done");
    return 0;
}
