/* Every caller of std::call_once is ordered after the call that made it. */
#include "../order.h"
#include <mutex>

int data;
std::once_flag once;

static void make()
{
    data = 1;
}

static void first()
{
    std::call_once(once, make);
    rb_reach(1);
}

static void second()
{
    rb_await(1);
    std::call_once(once, make);
    rb_use(data);
}

int main()
{
    return rb_both(first, second);
}
