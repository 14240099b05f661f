/* std::mutex and std::recursive_mutex: one for both threads. */
#include "../order.h"
#include <mutex>

RB_APART int plain, recursive;
std::mutex locks[1];
std::recursive_mutex recursive_locks[1];

static void first()
{
    {
        std::lock_guard<std::mutex> guard(locks[0]);
        plain = 1;
    }
    std::lock_guard<std::recursive_mutex> guard(recursive_locks[0]);
    std::lock_guard<std::recursive_mutex> again(recursive_locks[0]);
    recursive = 1;
    rb_reach(1);
}

static void second()
{
    rb_await(1);
    {
        std::unique_lock<std::mutex> guard(locks[0]);
        plain = 2;
    }
    std::lock_guard<std::recursive_mutex> guard(recursive_locks[0]);
    recursive = 2;
}

int main()
{
    return rb_both(first, second);
}
