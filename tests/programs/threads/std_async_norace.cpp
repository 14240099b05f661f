/* std::async: its data is used after get. */
#include "../order.h"
#include <future>

int data;

int main()
{
    auto result = std::async(std::launch::async, [] {
        data = 1;
        rb_reach(1);
        return 7;
    });

    rb_await(1);
    RB_CHECK(result.get() == 7);
    data = 2;
    return rb_done();
}
