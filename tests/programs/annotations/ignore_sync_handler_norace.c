/* A handler that interrupts code whose synchronisation is ignored synchronises all the same. */
#include <signal.h>

#include "../order.h"

void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);

int data, ready;

static void on_signal(int number)
{
    data = number;
    __atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
}

static void first(void)
{
    signal(SIGUSR1, on_signal);
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
    raise(SIGUSR1);
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    rb_check(__atomic_load_n(&ready, __ATOMIC_ACQUIRE), "signal");
    data = 2;
}

int main(void)
{
    return rb_both(first, second);
}
