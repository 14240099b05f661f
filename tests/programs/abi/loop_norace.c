/* Two threads fill an array, each its half. */
#include "../order.h"

enum { SIZE = 2000 };
int cells[SIZE];
int bounds[] = {0, SIZE / 2, SIZE};

static void first(void)
{
    for (int i = bounds[0]; i < bounds[1]; i++)
        cells[i] = i;
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    for (int i = bounds[1]; i < bounds[2]; i++)
        cells[i] = i;
}

int main(void)
{
    return rb_both(first, second);
}
