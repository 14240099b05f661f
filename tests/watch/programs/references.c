// References to an object are counted: plainly, or atomically; who drops the last makes a new one.
#include "two.h"

static long references = 1000000000, dropped[2];

static void *run(void *given)
{
    const struct two_thread *me = given;

    while (two_goes_on()) {
        const long left = RACE ? --references : __atomic_sub_fetch(&references, 1, __ATOMIC_ACQ_REL);
        dropped[me->number] += left & 1;
        two_pause(20);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    return two_run(argc, argv, run);
}
