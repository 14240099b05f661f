/*
 * Atomics that compilers leave to a library, of three bytes, twelve and sixteen: messages.
 * build: -latomic
 */
#include "../order.h"
#include <stdatomic.h>

typedef struct {
    char c[3];
} three;
typedef struct {
    int i[3];
} twelve;

_Atomic three small;
_Atomic twelve middle;
_Atomic unsigned __int128 big;
int RB_APART data, RB_APART other, RB_APART last;

static void first(void)
{
    data = 1;
    atomic_store_explicit(&small, (three){{1}}, memory_order_release);
    other = 1;
    atomic_exchange_explicit(&middle, (twelve){{1}}, memory_order_release);
    last = 1;
    unsigned __int128 before = 0;
    RB_CHECK(atomic_compare_exchange_strong_explicit(&big, &before, 1, memory_order_release,
                                                     memory_order_relaxed));
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    const three small_now = atomic_load_explicit(&small, memory_order_acquire);
    RB_CHECK(small_now.c[0] == 1);
    data = 2;
    const twelve middle_now = atomic_exchange_explicit(&middle, (twelve){{2}}, memory_order_acquire);
    RB_CHECK(middle_now.i[0] == 1);
    other = 2;
    unsigned __int128 before = 0;
    RB_CHECK(!atomic_compare_exchange_strong_explicit(&big, &before, 2, memory_order_acquire,
                                                      memory_order_acquire));
    RB_CHECK(before == 1);
    last = 2;
}

int main(void)
{
    return rb_both(first, second);
}
