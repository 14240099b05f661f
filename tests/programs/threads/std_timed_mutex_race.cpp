/* std::timed_mutex: try_lock_for and try_lock_until that run out of time make no edge. */
#include "../order.h"
#include <chrono>
#include <mutex>

using namespace std::chrono;
RB_APART int waited, until;
std::timed_mutex mutex;

static void first()
{
    mutex.lock();
    waited = 1; /* RACE 1 */
    until = 1;  /* RACE 3 */
    rb_reach(1);
    rb_await(2);
    mutex.unlock();
}

static void second()
{
    rb_await(1);
    RB_CHECK(!mutex.try_lock_for(milliseconds(1)));
    waited = 2; /* RACE 2 */
    RB_CHECK(!mutex.try_lock_until(system_clock::now() + milliseconds(1)));
    until = 2; /* RACE 4 */
    rb_reach(2);
}

int main()
{
    return rb_both(first, second);
}
