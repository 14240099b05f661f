/* Iterations that wait for the previous one. */
#include "../order.h"

enum { SIZE = 40 };
int cells[SIZE + 1];

int main(void)
{
#pragma omp parallel for num_threads(2) schedule(static, 1) ordered(1)
    for (int i = 1; i < SIZE; i++) {
#pragma omp ordered depend(sink : i - 1)
        cells[i] = cells[i - 1] + 1;
#pragma omp ordered depend(source)
    }
    rb_use(cells[SIZE - 1]);
    return rb_done();
}
