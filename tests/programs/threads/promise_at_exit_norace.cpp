/* libstdc++ makes the value ready after the thread's end, in code of its own. */
#include <future>
#include <thread>

#include "../order.h"

int main(void)
{
    for (int round = 0; round < 20; round++) {
        std::promise<int> promise;
        auto future = promise.get_future();
        int data = 0;
        std::thread thread([&] {
            data = 1;
            promise.set_value_at_thread_exit(4);
        });
        if (future.get() != 4)
            return 1;
        data = 2;
        thread.join();
    }
    return rb_done();
}
