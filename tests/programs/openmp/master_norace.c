/* The master construct with a barrier behind it. */
#include "../order.h"
#include <omp.h>

int data;

int main(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp master
        {
            data = 1;
            rb_reach(1);
        }
#pragma omp barrier
        rb_await(1);
        if (omp_get_thread_num() == 1)
            rb_use(data);
    }
    return rb_done();
}
