/* std::mutex and std::recursive_mutex: one for each thread. */
#include "../order.h"
#include <mutex>

RB_APART int plain, recursive;
std::mutex locks[2];
std::recursive_mutex recursive_locks[2];

static void first()
{
    {
        std::lock_guard<std::mutex> guard(locks[0]);
        plain = 1; /* RACE 1 */
    }
    std::lock_guard<std::recursive_mutex> guard(recursive_locks[0]);
    std::lock_guard<std::recursive_mutex> again(recursive_locks[0]);
    recursive = 1; /* RACE 3 */
    rb_reach(1);
}

static void second()
{
    rb_await(1);
    {
        std::unique_lock<std::mutex> guard(locks[1]);
        plain = 2; /* RACE 2 */
    }
    std::lock_guard<std::recursive_mutex> guard(recursive_locks[1]);
    recursive = 2; /* RACE 4 */
}

int main()
{
    return rb_both(first, second);
}
