/* What comes before a parallel region is ordered before it, what follows it behind it. */
#include "../order.h"
#include <omp.h>

int data;

int main(void)
{
    data = 1;
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 1) {
            data = 2;
            rb_reach(1);
        } else {
            rb_await(1);
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
