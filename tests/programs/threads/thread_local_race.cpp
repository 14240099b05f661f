/* What the destructor of a thread_local wrote is used before the thread is joined. */
#include "../order.h"
#include <thread>

int data;

struct object {
    int value = 0;
    ~object()
    {
        data = 1; /* RACE 1 */
        rb_reach(1);
    }
};

thread_local object mine;

int main()
{
    std::thread thread([] { mine.value = 1; });

    rb_await(1);
    data = 2; /* RACE 2 */
    thread.join();
    return rb_done();
}
