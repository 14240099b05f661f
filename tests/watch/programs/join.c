// Short-lived threads leave a result: it is read before they are joined, or after.
#include "two.h"

static long result;

static void *child(void *unused)
{
    (void)unused;
    for (int i = 0; i < 50; i++) {
        result += i;
        __asm__ volatile("" ::: "memory");
        two_pause(50);
    }
    return NULL;
}

static void *run(void *given)
{
    const struct two_thread *me = given;
    pthread_t t;
    long sum = 0;

    while (two_goes_on() && me->number == 0) {
        if (pthread_create(&t, NULL, child, NULL))
            break;
        for (int i = 0; RACE && i < 50; i++) {
            sum += result;
            __asm__ volatile("" ::: "memory");
            two_pause(40);
        }
        pthread_join(t, NULL);
        sum += result;
        result ^= sum & 1;
    }
    return (void *)sum;
}

int main(int argc, char **argv)
{
    return two_run(argc, argv, run);
}
