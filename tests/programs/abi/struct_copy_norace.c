/* A structure is copied whole; another thread writes the neighbours of the structure and of the copy. */
#include "../order.h"

struct record {
    long fields[11];
};
struct framed {
    long before;
    struct record record;
    long after;
};

_Alignas(16) struct framed from, to;

static void first(void)
{
    from.after = 1;
    from.before = 1;
    rb_reach(1);
    rb_await(2);
    to.after = 1;
    to.before = 1;
}

static void second(void)
{
    rb_await(1);
    to.record = from.record;
    rb_reach(2);
}

int main(void)
{
    return rb_both(first, second);
}
