/*
 * A static local, made by its first user, and written later by another: the guard orders no more than the
 * making.
 */
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

    it.value = 2; /* RACE 1 */
    rb_escape(&it);
    rb_reach(1);
}

static void second()
{
    rb_await(1);
    only().value = 3; /* RACE 2 */
}

int main()
{
    return rb_both(first, second);
}
