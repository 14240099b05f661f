/* A static local, made by its first user: the guard orders that before every other user. */
#include "../order.h"

struct object {
    int value;
    object() : value(1)
    {
        rb_escape(this);
    }
};

__attribute__((noinline)) static object &only()
{
    static object it;
    return it;
}

static void first()
{
    object &it = only();

    rb_escape(&it);
    rb_reach(1);
}

static void second()
{
    rb_await(1);
    only().value = 3;
}

int main()
{
    return rb_both(first, second);
}
