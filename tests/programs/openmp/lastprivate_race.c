/* A variable that every iteration writes, shared by mistake. */
#include "../order.h"

enum { SIZE = 100 };

int main(void)
{
    int last = -1;

#pragma omp parallel for num_threads(2) schedule(static)
    for (int i = 0; i < SIZE; i++)
        last = i; /* RACE 1 RACE 2 */
    rb_use(last);
    return rb_done();
}
