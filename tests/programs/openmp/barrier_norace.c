/* Two threads exchange data over a barrier, many times. */
#include "../order.h"
#include <omp.h>

int data[2];

int main(void)
{
#pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num();

        for (int i = 0; i < 30; i++) {
            data[me] = i;
#pragma omp barrier
            rb_use(data[1 - me]);
#pragma omp barrier
        }
    }
    return rb_done();
}
