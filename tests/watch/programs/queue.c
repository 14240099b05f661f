// A queue of one producer and one consumer: indices plain, or stored with release and loaded with acquire;
// what is in it is plain in both.
#include "two.h"

#define ROOM 16u

static unsigned long items[ROOM];
static unsigned head, tail;

#define LOAD(x) (RACE ? *(volatile unsigned *)&(x) : __atomic_load_n(&(x), __ATOMIC_ACQUIRE))
#define STORE(x, v) \
    (RACE ? (void)(*(volatile unsigned *)&(x) = (v)) : __atomic_store_n(&(x), (v), __ATOMIC_RELEASE))

static void *run(void *given)
{
    const struct two_thread *me = given;
    unsigned long sum = 0;

    for (unsigned long i = 0; two_goes_on(); i++) {
        if (me->number == 0 && (RACE || head - LOAD(tail) < ROOM)) {
            items[head % ROOM] += i;
            STORE(head, head + 1);
        } else if (me->number == 1 && (RACE || LOAD(head) != tail)) {
            sum ^= items[tail % ROOM];
            items[tail % ROOM] = 0;
            STORE(tail, tail + 1);
        }
        two_pause(5);
    }
    return (void *)sum;
}

int main(int argc, char **argv)
{
    return two_run(argc, argv, run);
}
