/* std::call_once of a function that throws: the next execution comes after it. */
#include "../order.h"
#include <mutex>

static std::once_flag flag;
static int data[16];

static void first(void)
{
    try {
        std::call_once(flag, [] {
            for (int &value : data)
                value = 1;
            throw 1;
        });
    } catch (int) {
    }
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    std::call_once(flag, [] {
        for (int &value : data)
            rb_use(value);
    });
}

int main()
{
    return rb_both(first, second);
}
