/* Every kind of read-modify-write with release order: an edge to the acquire load. */
#include "../order.h"
#include <stdatomic.h>

RB_APART int swapped, added, subtracted, anded, ored, xored, nanded, strong, weak;
int flags[9];
#define ORDER memory_order_release

static void first(void)
{
    int zero = 0;

    swapped = 1;
    rb_use(__atomic_exchange_n(&flags[0], 1, ORDER));
    added = 1;
    rb_use(__atomic_fetch_add(&flags[1], 1, ORDER));
    subtracted = 1;
    rb_use(__atomic_fetch_sub(&flags[2], 1, ORDER));
    anded = 1;
    rb_use(__atomic_fetch_and(&flags[3], 1, ORDER));
    ored = 1;
    rb_use(__atomic_fetch_or(&flags[4], 1, ORDER));
    xored = 1;
    rb_use(__atomic_fetch_xor(&flags[5], 1, ORDER));
    nanded = 1;
    rb_use(__atomic_fetch_nand(&flags[6], 1, ORDER));
    strong = 1;
    __atomic_compare_exchange_n(&flags[7], &zero, 1, 0, ORDER, memory_order_relaxed);
    weak = 1;
    while (!__atomic_compare_exchange_n(&flags[8], &zero, 1, 1, ORDER, memory_order_relaxed))
        zero = 0;
    rb_reach(1);
}

static int acquire(int n)
{
    return __atomic_load_n(&flags[n], memory_order_acquire);
}

static void second(void)
{
    rb_await(1);
    /* The earliest first: a later flag would order what came before it. */
    rb_use(acquire(0));
    swapped = 2;
    rb_use(acquire(1));
    added = 2;
    rb_use(acquire(2));
    subtracted = 2;
    rb_use(acquire(3));
    anded = 2;
    rb_use(acquire(4));
    ored = 2;
    rb_use(acquire(5));
    xored = 2;
    rb_use(acquire(6));
    nanded = 2;
    rb_use(acquire(7));
    strong = 2;
    rb_use(acquire(8));
    weak = 2;
}

int main(void)
{
    return rb_both(first, second);
}
