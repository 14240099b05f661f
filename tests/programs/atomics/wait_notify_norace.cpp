/*
 * std::atomic's wait and notify: the store that is waited for orders the data before it.
 * build: -std=c++20
 */
#include "../order.h"
#include <atomic>

int data;
std::atomic<int> flag;

static void first()
{
    data = 1;
    flag.store(1);
    flag.notify_one();
    rb_reach(1);
}

static void second()
{
    flag.wait(0);
    rb_await(1);
    data = 2;
}

int main()
{
    return rb_both(first, second);
}
