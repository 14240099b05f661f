/* std::condition_variable: the data is written after the mutex was given back. */
#include "../order.h"
#include <chrono>
#include <condition_variable>

int data;
bool ready;
std::mutex mutex;
std::condition_variable condition;

static void first()
{
    {
        std::lock_guard<std::mutex> guard(mutex);
        ready = true;
    }
    condition.notify_all();
    data = 1; /* RACE 1 */
    rb_reach(1);
}

static void second()
{
    {
        std::unique_lock<std::mutex> guard(mutex);
        while (!condition.wait_for(guard, std::chrono::milliseconds(1), [] { return ready; }))
            ;
        condition.wait(guard, [] { return ready; });
    }
    rb_await(1);
    data = 2; /* RACE 2 */
}

int main()
{
    return rb_both(first, second);
}
