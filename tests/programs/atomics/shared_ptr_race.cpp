/*
 * A thread goes on using the object after it has dropped its reference; the last owner writes to it as well.
 */
#include "../order.h"
#include <memory>

struct object {
    int value = 0;
    ~object()
    {
        value = -1; /* RACE 2 */
        rb_escape(this);
    }
};

std::shared_ptr<object> a, b;

static void first()
{
    object *raw = a.get();

    a.reset();
    raw->value = 1; /* RACE 1 */
    rb_escape(raw);
    rb_reach(1);
}

static void second()
{
    rb_await(1);
    b.reset();
}

int main()
{
    b = a = std::make_shared<object>();
    return rb_both(first, second);
}
