/* A variable that every iteration writes, private, and the last one's value kept. */
#include "../order.h"

enum { SIZE = 100 };

int main(void)
{
    int last = -1;

#pragma omp parallel for num_threads(2) schedule(static) lastprivate(last)
    for (int i = 0; i < SIZE; i++)
        last = i;
    RB_CHECK(last == SIZE - 1);
    rb_use(last);
    return rb_done();
}
