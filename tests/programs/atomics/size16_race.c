/*
 * A flag of 16 bytes with relaxed order.
 * build: -mcx16
 */
#include "../order.h"

#define STORE __ATOMIC_RELAXED
#define LOAD  __ATOMIC_RELAXED
RB_APART int stored, added, exchanged;
unsigned __int128 flags[3];

static void first(void)
{
    unsigned __int128 zero = 0;

    stored = 1; /* RACE 1 */
    __atomic_store_n(&flags[0], 1, STORE);
    added = 1; /* RACE 3 */
    __atomic_fetch_add(&flags[1], 1, STORE);
    exchanged = 1; /* RACE 5 */
    __atomic_compare_exchange_n(&flags[2], &zero, 1, 0, STORE, __ATOMIC_RELAXED);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    RB_CHECK(__atomic_load_n(&flags[0], LOAD) == 1);
    stored = 2; /* RACE 2 */
    RB_CHECK(__atomic_load_n(&flags[1], LOAD) == 1);
    added = 2; /* RACE 4 */
    RB_CHECK(__atomic_load_n(&flags[2], LOAD) == 1);
    exchanged = 2; /* RACE 6 */
}

int main(void)
{
    return rb_both(first, second);
}
