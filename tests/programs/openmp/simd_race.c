/* A loop in vectors and threads reads the neighbour's element of the array it writes. */
#include "../order.h"

enum { SIZE = 1024 };
int from[SIZE + 1];
#define to from

int main(void)
{
#pragma omp parallel for simd num_threads(2) schedule(static)
    for (int i = 0; i < SIZE; i++)
        to[i] = from[i + 1] + 1; /* RACE 1 RACE 2 */
    rb_use(to[0]);
    return rb_done();
}
