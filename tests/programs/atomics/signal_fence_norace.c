/* Release and acquire order on the flag beside the fences against signal handlers. */
#include "../order.h"
#include <stdatomic.h>

#define STORE memory_order_release
#define LOAD  memory_order_acquire
int data;
atomic_int flag;

static void first(void)
{
    data = 1;
    atomic_signal_fence(memory_order_release);
    atomic_store_explicit(&flag, 1, STORE);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    RB_CHECK(atomic_load_explicit(&flag, LOAD) == 1);
    atomic_signal_fence(memory_order_acquire);
    data = 2;
}

int main(void)
{
    return rb_both(first, second);
}
