/* A loop shared out: one element is written by two iterations. */
#include "../order.h"

enum { SIZE = 1000 };
int cells[SIZE];

int main(void)
{
    int scratch;

#pragma omp parallel for num_threads(2) schedule(static) private(scratch)
    for (int i = 0; i < SIZE; i++) {
        scratch = i;
        cells[i < SIZE - 1 ? i : 0] = scratch; /* RACE 1 RACE 2 */
    }
    for (int i = 1; i < SIZE - 1; i++)
        RB_CHECK(cells[i] == i);
    return rb_done();
}
