// A pair of numbers behind a sequence number: plain data without a second look, or a seqlock of atomics.
#include "two.h"

static unsigned sequence;
static long pair[2];

static void write_pair(long value)
{
    if (RACE) {
        pair[0] += value;
        pair[1] += value;
        return;
    }
    const unsigned s = __atomic_load_n(&sequence, __ATOMIC_RELAXED);
    __atomic_store_n(&sequence, s + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&pair[0], value, __ATOMIC_RELAXED);
    __atomic_store_n(&pair[1], value, __ATOMIC_RELAXED);
    __atomic_store_n(&sequence, s + 2, __ATOMIC_RELEASE);
}

static long read_pair(void)
{
    if (RACE)
        return pair[0] - pair[1];
    for (;;) {
        const unsigned s = __atomic_load_n(&sequence, __ATOMIC_ACQUIRE);
        const long a = __atomic_load_n(&pair[0], __ATOMIC_RELAXED),
                   b = __atomic_load_n(&pair[1], __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (!(s & 1) && s == __atomic_load_n(&sequence, __ATOMIC_RELAXED))
            return a - b;
        two_pause(1);
    }
}

static void *run(void *given)
{
    const struct two_thread *me = given;
    long odd = 0;

    for (long i = 0; two_goes_on(); i++) {
        if (me->number)
            odd += read_pair();
        else
            write_pair(i);
        two_pause(20);
    }
    return (void *)odd;
}

int main(int argc, char **argv)
{
    return two_run(argc, argv, run);
}
