/* A loop with its implied barrier: the next one reads what other threads wrote. */
#include "../order.h"

enum { SIZE = 100 };
int from[SIZE], to[SIZE];

int main(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp for schedule(static)
        for (int i = 0; i < SIZE; i++)
            from[i] = i;
#pragma omp for schedule(static)
        for (int i = 0; i < SIZE; i++)
            to[i] = from[SIZE - 1 - i];
    }
    rb_use(to[0]);
    return rb_done();
}
