/* The master construct has no barrier of its own. */
#include "../order.h"
#include <omp.h>

int data;

int main(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp master
        {
            data = 1; /* RACE 1 */
            rb_reach(1);
        }
        rb_await(1);
        if (omp_get_thread_num() == 1)
            rb_use(data); /* RACE 2 */
    }
    return rb_done();
}
