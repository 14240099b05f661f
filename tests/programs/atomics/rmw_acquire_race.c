/* Every kind of read-modify-write with relaxed order after a release store: no edge. */
#include "../order.h"
#include <stdatomic.h>

RB_APART int swapped, added, subtracted, anded, ored, xored, nanded, strong;
int flags[8];
#define ORDER memory_order_relaxed

static void first(void)
{
    swapped = 1; /* RACE 1 */
    __atomic_store_n(&flags[0], 1, memory_order_release);
    added = 1; /* RACE 3 */
    __atomic_store_n(&flags[1], 1, memory_order_release);
    subtracted = 1; /* RACE 5 */
    __atomic_store_n(&flags[2], 1, memory_order_release);
    anded = 1; /* RACE 7 */
    __atomic_store_n(&flags[3], 1, memory_order_release);
    ored = 1; /* RACE 9 */
    __atomic_store_n(&flags[4], 1, memory_order_release);
    xored = 1; /* RACE 11 */
    __atomic_store_n(&flags[5], 1, memory_order_release);
    nanded = 1; /* RACE 13 */
    __atomic_store_n(&flags[6], 1, memory_order_release);
    strong = 1; /* RACE 15 */
    __atomic_store_n(&flags[7], 1, memory_order_release);
    rb_reach(1);
}

static void second(void)
{
    int one = 1;

    rb_await(1);
    rb_use(__atomic_exchange_n(&flags[0], 2, ORDER));
    swapped = 2; /* RACE 2 */
    rb_use(__atomic_fetch_add(&flags[1], 1, ORDER));
    added = 2; /* RACE 4 */
    rb_use(__atomic_fetch_sub(&flags[2], 1, ORDER));
    subtracted = 2; /* RACE 6 */
    rb_use(__atomic_fetch_and(&flags[3], 1, ORDER));
    anded = 2; /* RACE 8 */
    rb_use(__atomic_fetch_or(&flags[4], 1, ORDER));
    ored = 2; /* RACE 10 */
    rb_use(__atomic_fetch_xor(&flags[5], 1, ORDER));
    xored = 2; /* RACE 12 */
    rb_use(__atomic_fetch_nand(&flags[6], 1, ORDER));
    nanded = 2; /* RACE 14 */
    RB_CHECK(__atomic_compare_exchange_n(&flags[7], &one, 2, 0, ORDER, memory_order_relaxed));
    strong = 2; /* RACE 16 */
}

int main(void)
{
    return rb_both(first, second);
}
