// Two flags, each of one thread: neighbours in a word, or in bytes of their own.
#include "two.h"

static struct {
#if RACE
    unsigned a : 4, b : 4;
#else
    unsigned char a, b;
#endif
} flags;

static void *run(void *given)
{
    const struct two_thread *me = given;

    while (two_goes_on()) {
        if (me->number)
            flags.a ^= 3;
        else
            flags.b ^= 5;
        __asm__ volatile("" ::: "memory");
        two_pause(20);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    return two_run(argc, argv, run);
}
