/* A promise: what is written behind set_value is not ordered by get. */
#include "../order.h"
#include <future>

int data;
std::promise<int> promise;

static void first()
{
    promise.set_value(7);
    data = 1; /* RACE 1 */
    rb_reach(1);
}

static void second()
{
    RB_CHECK(promise.get_future().get() == 7);
    rb_await(1);
    data = 2; /* RACE 2 */
}

int main()
{
    return rb_both(first, second);
}
