// A buffer goes to and fro: without waiting for the other, or handed over by bytes in two pipes.
#include <unistd.h>

#include "two.h"

static int to[2][2];
static long buffer[8];

static void *run(void *given)
{
    const struct two_thread *me = given;
    char byte = 1;

    while (byte) {
        if (!RACE && read(to[me->number][0], &byte, 1) != 1)
            break;
        for (int i = 0; i < 8; i++)
            buffer[i] += me->number + i;
        if (me->number == 0)
            byte = (char)two_goes_on();
        if (!RACE && write(to[1 - me->number][1], &byte, 1) != 1)
            break;
        if (RACE) {
            byte = (char)two_goes_on();
            two_pause(20);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (pipe(to[0]) || pipe(to[1]) || write(to[0][1], "\1", 1) != 1)
        return 1;
    return two_run(argc, argv, run);
}
