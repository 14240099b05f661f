/* Exceptions through deep calls, which give back the locks they held. */
#include "../order.h"
#include <mutex>
#include <stdexcept>

int data;
std::mutex mutex;

__attribute__((noinline)) static int dive(int depth)
{
    if (depth == 0)
        throw std::runtime_error("deep");
    return dive(depth - 1) + 1;
}

__attribute__((noinline)) static void write_it(int value)
{
    data = value;
    rb_escape(&data);
}

static void fail(int value)
{
    try {
        std::lock_guard<std::mutex> guard(mutex);

        write_it(value);
        rb_use(dive(20));
    } catch (const std::exception &) {
        rb_use(value);
    }
}

static void first()
{
    for (int i = 0; i < 20; i++)
        fail(i);
    rb_reach(1);
}

static void second()
{
    rb_await(1);
    for (int i = 0; i < 20; i++)
        fail(i);
    rb_escape(&data);
}

int main()
{
    return rb_both(first, second);
}
