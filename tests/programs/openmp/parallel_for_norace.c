/* A loop shared out: each iteration has its own element, and its own private variable. */
#include "../order.h"

enum { SIZE = 1000 };
int cells[SIZE];

int main(void)
{
    int scratch;

#pragma omp parallel for num_threads(2) schedule(static) private(scratch)
    for (int i = 0; i < SIZE; i++) {
        scratch = i;
        cells[i] = scratch;
    }
    for (int i = 1; i < SIZE - 1; i++)
        RB_CHECK(cells[i] == i);
    return rb_done();
}
