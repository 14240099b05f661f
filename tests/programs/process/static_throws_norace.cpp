/* A static's initialiser that throws; another thread tries again, after all that the first attempt did. */
#include "../order.h"

static int data[16], tries;

struct Static {
    Static()
    {
        if (!tries++) {
            for (int &value : data)
                value = 1;
            throw 1;
        }
        for (int &value : data)
            rb_use(value);
    }
};

static void get()
{
    static Static made;
    rb_escape(&made);
}

static void first(void)
{
    try {
        get();
    } catch (int) {
    }
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    get();
}

int main()
{
    return rb_both(first, second);
}
