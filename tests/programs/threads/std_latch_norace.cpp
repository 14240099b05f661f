/*
 * std::latch and std::counting_semaphore: written before count_down and release.
 * build: -std=c++20
 */
#include "../order.h"
#include <latch>
#include <semaphore>

RB_APART int latched, counted;
std::latch latch(1);
std::counting_semaphore<4> semaphore(0);

static void first()
{
    latched = 1;
    latch.count_down();
    rb_reach(1);
    rb_await(2);
    counted = 1;
    semaphore.release();
    rb_reach(3);
}

static void second()
{
    latch.wait();
    rb_await(1);
    latched = 2;
    rb_reach(2);
    semaphore.acquire();
    rb_await(3);
    counted = 2;
}

int main()
{
    return rb_both(first, second);
}
