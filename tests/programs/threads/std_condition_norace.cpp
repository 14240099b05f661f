/* std::condition_variable: the data is written with the mutex held; wait and wait_for. */
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
        data = 1;
        ready = true;
    }
    condition.notify_all();
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
    data = 2;
}

int main()
{
    return rb_both(first, second);
}
