/* A static's initialiser that throws orders nobody who does not try again. */
#include "../order.h"

int data;

struct Static {
    Static()
    {
        data = 1; /* RACE 1 */
        throw 1;
    }
};

static void first(void)
{
    try {
        static Static made;
        rb_escape(&made);
    } catch (int) {
    }
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    data = 2; /* RACE 2 */
}

int main()
{
    return rb_both(first, second);
}
