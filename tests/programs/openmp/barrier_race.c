/* Two threads exchange data in time, without a barrier between. */
#include "../order.h"
#include <omp.h>

int data[2];

int main(void)
{
#pragma omp parallel num_threads(2)
    {
        int me = omp_get_thread_num();

        if (me == 0) {
            data[0] = 1; /* RACE 1 */
            rb_reach(1);
        } else {
            rb_await(1);
            rb_use(data[0]); /* RACE 2 */
        }
    }
    return rb_done();
}
