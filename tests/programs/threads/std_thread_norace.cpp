/* std::thread: written before it is started, used after it was joined. */
#include "../order.h"
#include <thread>

RB_APART int before, after;

int main()
{
    before = 1;
    std::thread thread([] {
        rb_await(1);
        before = 2;
        after = 1;
        rb_reach(2);
    });
    rb_reach(1);
    rb_await(2);
    thread.join();
    after = 2;
    return rb_done();
}
