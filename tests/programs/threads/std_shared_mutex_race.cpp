/*
 * std::shared_mutex: two who share it, one of them writes.
 * build: -std=c++17
 */
#include "../order.h"
#include <mutex>
#include <shared_mutex>

int data;
std::shared_mutex mutex;

static void first()
{
    std::shared_lock<std::shared_mutex> guard(mutex);
    rb_use(data); /* RACE 1 */
    guard.unlock();
    rb_reach(1);
}

static void second()
{
    rb_await(1);
    std::shared_lock<std::shared_mutex> guard(mutex);
    data = 1; /* RACE 2 */
}

int main()
{
    return rb_both(first, second);
}
