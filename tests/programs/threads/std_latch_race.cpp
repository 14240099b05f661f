/*
 * std::latch and std::counting_semaphore: written behind count_down and release.
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
    latch.count_down();
    latched = 1; /* RACE 1 */
    rb_reach(1);
    rb_await(2);
    semaphore.release();
    counted = 1; /* RACE 3 */
    rb_reach(3);
}

static void second()
{
    latch.wait();
    rb_await(1);
    latched = 2; /* RACE 2 */
    rb_reach(2);
    semaphore.acquire();
    rb_await(3);
    counted = 2; /* RACE 4 */
}

int main()
{
    return rb_both(first, second);
}
