/* What the destructor of a thread_local wrote is used after the thread was joined. */
#include "../order.h"
#include <thread>

int data;

struct object {
    int value = 0;
    ~object()
    {
        data = 1;
        rb_reach(1);
    }
};

thread_local object mine;

int main()
{
    std::thread thread([] { mine.value = 1; });

    rb_await(1);
    thread.join();
    data = 2;
    return rb_done();
}
