/*
 * std::shared_mutex: one who shares it reads, one who has it alone writes.
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
    rb_use(data);
    guard.unlock();
    rb_reach(1);
}

static void second()
{
    rb_await(1);
    std::unique_lock<std::shared_mutex> guard(mutex);
    data = 1;
}

int main()
{
    return rb_both(first, second);
}
