/* std::atomic with relaxed order. */
#include "../order.h"
#include <atomic>

RB_APART int stored, counted;
std::atomic<bool> flag;
std::atomic<long> count;

static void first()
{
    stored = 1; /* RACE 1 */
    flag.store(true, std::memory_order_relaxed);
    counted = 1; /* RACE 3 */
    count.fetch_add(1, std::memory_order_relaxed);
    rb_reach(1);
}

static void second()
{
    rb_await(1);
    RB_CHECK(flag.load(std::memory_order_relaxed));
    stored = 2; /* RACE 2 */
    RB_CHECK(count.load(std::memory_order_relaxed) == 1);
    counted = 2; /* RACE 4 */
}

int main()
{
    return rb_both(first, second);
}
