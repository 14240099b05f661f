/* Two threads fill an array, the halves overlap by one element. */
#include "../order.h"

enum { SIZE = 2000 };
int cells[SIZE];
int bounds[] = {0, SIZE / 2, SIZE};

static void first(void)
{
    for (int i = bounds[0]; i < bounds[1]; i++)
        cells[i] = i; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    for (int i = bounds[1] - 1; i < bounds[2]; i++)
        cells[i] = i; /* RACE 2 */
}

int main(void)
{
    return rb_both(first, second);
}
