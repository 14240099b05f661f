/*
 * std::atomic's wait and notify; the data is written behind the store that is waited for.
 * build: -std=c++20
 */
#include "../order.h"
#include <atomic>

int data;
std::atomic<int> flag;

static void first()
{
    flag.store(1);
    flag.notify_one();
    data = 1; /* RACE 1 */
    rb_reach(1);
}

static void second()
{
    flag.wait(0);
    rb_await(1);
    data = 2; /* RACE 2 */
}

int main()
{
    return rb_both(first, second);
}
