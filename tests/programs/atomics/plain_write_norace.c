/* Atomic accesses of the same place, relaxed though they are, do not race with each other. */
#include "../order.h"

RB_APART int loaded, stored, added;

static void first(void)
{
    __atomic_store_n(&loaded, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&stored, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&added, 1, __ATOMIC_RELAXED);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    rb_use(__atomic_load_n(&loaded, __ATOMIC_RELAXED));
    __atomic_store_n(&stored, 2, __ATOMIC_RELAXED);
    __atomic_fetch_add(&added, 1, __ATOMIC_RELAXED);
}

int main(void)
{
    return rb_both(first, second);
}
