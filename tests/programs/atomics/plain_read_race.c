/* A plain read races with an atomic store that came before it, and with one that comes after it. */
#include "../order.h"

RB_APART int before, after;
_Alignas(8) int halves[2];

static void first(void)
{
    __atomic_store_n(&before, 1, __ATOMIC_RELAXED); /* RACE 1 */
    rb_use(after);                                  /* RACE 3 */
    __atomic_store_n(&halves[0], 1, __ATOMIC_RELAXED);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    rb_use(before);                                /* RACE 2 */
    __atomic_store_n(&after, 1, __ATOMIC_RELAXED); /* RACE 4 */
    halves[1] = 1;
}

int main(void)
{
    return rb_both(first, second);
}
