/*
 * The threads of a region are ordered after what came before it and before what follows it, not with each
 * other.
 */
#include "../order.h"
#include <omp.h>

int data;

int main(void)
{
    data = 1;
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1) {
            data = 2; /* RACE 1 */
            rb_reach(1);
        } else {
            rb_await(1);
            data = 3; /* RACE 2 */
        }
    }
    data = 4;
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1)
            data = 5;
    }
    data = 6;
    return rb_done();
}
