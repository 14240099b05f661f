// Something is made at the first use: whoever finds it missing makes it, or pthread_once.
#include "two.h"

static long made, uses[2];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make(void)
{
    made += 42;
}

static void *run(void *given)
{
    const struct two_thread *me = given;

    for (unsigned i = 0; two_goes_on(); i++) {
        if (!RACE)
            pthread_once(&once, make);
        else if (made <= (long)i)
            make();
        uses[me->number] += made;
        two_pause(20);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    return two_run(argc, argv, run);
}
