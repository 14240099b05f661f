/* A structure is copied whole; another thread wrote its last field, or writes a field of the copy. */
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
    from.record.fields[10] = 1; /* RACE 1 */
    rb_reach(1);
    rb_await(2);
    to.record.fields[5] = 1; /* RACE 4 */
}

static void second(void)
{
    rb_await(1);
    to.record = from.record; /* RACE 2 RACE 3 */
    rb_reach(2);
}

int main(void)
{
    return rb_both(first, second);
}
