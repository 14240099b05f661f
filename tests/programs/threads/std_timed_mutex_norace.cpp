/* std::timed_mutex: try_lock_for and try_lock_until that succeed order. */
#include "../order.h"
#include <chrono>
#include <mutex>

using namespace std::chrono;
RB_APART int waited, until;
std::timed_mutex mutex;

static void first()
{
    mutex.lock();
    waited = 1;
    until = 1;
    mutex.unlock();
    rb_reach(1);
}

static void second()
{
    rb_await(1);
    RB_CHECK(mutex.try_lock_for(seconds(5)));
    waited = 2;
    mutex.unlock();
    RB_CHECK(mutex.try_lock_until(system_clock::now() + seconds(5)));
    until = 2;
    mutex.unlock();
}

int main()
{
    return rb_both(first, second);
}
