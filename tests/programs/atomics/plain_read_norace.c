/* A plain read does not race with an atomic load, nor does one part of a word with another. */
#include "../order.h"

RB_APART int before, after;
_Alignas(8) int halves[2];

static void first(void)
{
    rb_use(__atomic_load_n(&before, __ATOMIC_RELAXED));
    rb_use(after);
    __atomic_store_n(&halves[0], 1, __ATOMIC_RELAXED);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    rb_use(before);
    rb_use(__atomic_load_n(&after, __ATOMIC_RELAXED));
    halves[1] = 1;
}

int main(void)
{
    return rb_both(first, second);
}
