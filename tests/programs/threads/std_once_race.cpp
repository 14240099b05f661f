/* What std::call_once made is used by a thread that did not call it. */
#include "../order.h"
#include <mutex>

int data;
std::once_flag once;

static void make()
{
    data = 1; /* RACE 1 */
}

static void first()
{
    std::call_once(once, make);
    rb_reach(1);
}

static void second()
{
    rb_await(1);
    rb_use(data); /* RACE 2 */
}

int main()
{
    return rb_both(first, second);
}
