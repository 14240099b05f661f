/* A loop in vectors and threads reads one array and writes another. */
#include "../order.h"

enum { SIZE = 1024 };
int from[SIZE + 1];
int to[SIZE + 1];

int main(void)
{
#pragma omp parallel for simd num_threads(2) schedule(static)
    for (int i = 0; i < SIZE; i++)
        to[i] = from[i + 1] + 1;
    rb_use(to[0]);
    return rb_done();
}
