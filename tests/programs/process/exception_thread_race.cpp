/* An exception goes from one thread to another by a promise; written behind its setting. */
#include "../order.h"
#include <future>
#include <stdexcept>

int data;
std::promise<int> promise;

static void first()
{
    try {
        throw std::runtime_error("handed on");
    } catch (...) {
        promise.set_exception(std::current_exception());
        data = 1; /* RACE 1 */
    }
    rb_reach(1);
}

static void second()
{
    try {
        promise.get_future().get();
    } catch (const std::runtime_error &) {
        rb_await(1);
        data = 2; /* RACE 2 */
    }
}

int main()
{
    return rb_both(first, second);
}
