/* A task's own task is waited for at the end of the taskgroup. */
#include "../order.h"

int data;

int main(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp taskgroup
        {
#pragma omp task
            {
#pragma omp task
                {
                    rb_reach(1);
                    data = 1;
                    rb_reach(3);
                }
                rb_use(1);
            }
            rb_await(1); /* the other thread has both tasks */
        }
#pragma omp taskwait
        data = 2;
    }
    return rb_done();
}
