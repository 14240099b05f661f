/* A promise: get is ordered after what came before set_value. */
#include "../order.h"
#include <future>

int data;
std::promise<int> promise;

static void first()
{
    data = 1;
    promise.set_value(7);
    rb_reach(1);
}

static void second()
{
    RB_CHECK(promise.get_future().get() == 7);
    rb_await(1);
    data = 2;
}

int main()
{
    return rb_both(first, second);
}
