/* A loop with nowait: the next one reads what another thread may not have written yet. */
#include "../order.h"

enum { SIZE = 100 };
int from[SIZE], to[SIZE];

int main(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp for schedule(static) nowait
        for (int i = 0; i < SIZE; i++)
            from[i] = i; /* RACE 1 */
#pragma omp for schedule(static)
        for (int i = 0; i < SIZE; i++)
            to[i] = from[SIZE - 1 - i]; /* RACE 2 */
    }
    rb_use(to[0]);
    return rb_done();
}
