/* Flags of 1, 2, 4 and 8 bytes with relaxed order. */
#include "../order.h"
#include <stdatomic.h>
#include <stdint.h>

#define STORE memory_order_relaxed
#define LOAD  memory_order_relaxed
RB_APART int one, two, four, eight;
_Atomic uint8_t flag1;
_Atomic uint16_t flag2;
_Atomic uint32_t flag4;
_Atomic uint64_t flag8;

static void first(void)
{
    one = 1; /* RACE 1 */
    atomic_store_explicit(&flag1, 1, STORE);
    two = 1; /* RACE 3 */
    atomic_fetch_add_explicit(&flag2, 1, STORE);
    four = 1; /* RACE 5 */
    rb_use(atomic_exchange_explicit(&flag4, 1, STORE));
    eight = 1; /* RACE 7 */
    atomic_store_explicit(&flag8, 1, STORE);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    RB_CHECK(atomic_load_explicit(&flag1, LOAD) == 1);
    one = 2; /* RACE 2 */
    RB_CHECK(atomic_load_explicit(&flag2, LOAD) == 1);
    two = 2; /* RACE 4 */
    RB_CHECK(atomic_load_explicit(&flag4, LOAD) == 1);
    four = 2; /* RACE 6 */
    RB_CHECK(atomic_load_explicit(&flag8, LOAD) == 1);
    eight = 2; /* RACE 8 */
}

int main(void)
{
    return rb_both(first, second);
}
