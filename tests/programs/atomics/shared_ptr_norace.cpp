/* Two threads use an object and drop their references; who drops the last one destroys it. */
#include "../order.h"
#include <memory>

struct object {
    int value = 0;
    ~object()
    {
        value = -1;
        rb_escape(this);
    }
};

std::shared_ptr<object> a, b;

static void first()
{
    object *raw = a.get();

    raw->value = 1;
    a.reset();
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
