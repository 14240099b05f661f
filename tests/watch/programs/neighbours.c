// Counters in one word, a byte each: the threads' ranges overlap in a byte, or only touch.
#include "two.h"

static unsigned char counts[8];

static void *run(void *given)
{
    const struct two_thread *me = given;
    const int from = me->number ? (RACE ? 3 : 4) : 0, to = me->number ? 8 : 4;

    while (two_goes_on()) {
        for (int i = from; i < to; i++) {
            counts[i]++;
            __asm__ volatile("" ::: "memory");
        }
        two_pause(20);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    return two_run(argc, argv, run);
}
