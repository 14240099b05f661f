/* What another thread does before it waits for the value is ordered with nothing. */
#include <future>
#include <thread>

#include "../order.h"

int data;

int main(void)
{
    std::promise<int> promise;
    auto future = promise.get_future();
    std::thread thread([&] {
        rb_await(1);
        data = 1; /* RACE 1 */
        promise.set_value_at_thread_exit(4);
    });
    data = 2; /* RACE 2 */
    rb_reach(1);
    if (future.get() != 4)
        return 1;
    thread.join();
    return rb_done();
}
