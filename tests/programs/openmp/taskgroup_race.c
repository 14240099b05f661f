/* A task's own task is not waited for by taskwait. */
#include "../order.h"

int data;

int main(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        {
#pragma omp task
            {
#pragma omp task
                {
                    rb_reach(1);
                    rb_await(2);
                    data = 1; /* RACE 1 */
                    rb_reach(3);
                }
                rb_use(1);
            }
            rb_await(1); /* the other thread has both tasks */
        }
#pragma omp taskwait
        rb_reach(2);
        rb_await(3);
        data = 2; /* RACE 2 */
    }
    return rb_done();
}
