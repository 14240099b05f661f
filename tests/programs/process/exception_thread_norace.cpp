/* An exception goes from one thread to another by a promise, and what came before it. */
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
        data = 1;
        promise.set_exception(std::current_exception());
    }
    rb_reach(1);
}

static void second()
{
    try {
        promise.get_future().get();
    } catch (const std::runtime_error &) {
        rb_await(1);
        data = 2;
    }
}

int main()
{
    return rb_both(first, second);
}
