/* std::atomic with release and acquire order, and its operators. */
#include "../order.h"
#include <atomic>

RB_APART int stored, counted;
std::atomic<bool> flag;
std::atomic<long> count;

static void first()
{
    stored = 1;
    flag.store(true, std::memory_order_release);
    counted = 1;
    count++;
    rb_reach(1);
}

static void second()
{
    rb_await(1);
    RB_CHECK(flag.load(std::memory_order_acquire));
    stored = 2;
    RB_CHECK(count == 1);
    counted = 2;
}

int main()
{
    return rb_both(first, second);
}
