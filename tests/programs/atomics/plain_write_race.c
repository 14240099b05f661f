/* A plain write races with an atomic load and with an atomic store of the same place. */
#include "../order.h"

RB_APART int loaded, stored, added;

static void first(void)
{
    loaded = 1; /* RACE 1 */
    stored = 1; /* RACE 3 */
    added = 1;  /* RACE 5 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    rb_use(__atomic_load_n(&loaded, __ATOMIC_RELAXED)); /* RACE 2 */
    __atomic_store_n(&stored, 2, __ATOMIC_RELAXED);     /* RACE 4 */
    __atomic_fetch_add(&added, 1, __ATOMIC_RELAXED);    /* RACE 6 */
}

int main(void)
{
    return rb_both(first, second);
}
