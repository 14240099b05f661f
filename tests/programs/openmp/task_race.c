/* The thread that created a task goes on, and uses what the task writes. */
#include "../order.h"

int data;

int main(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        data = 1;
#pragma omp task
        {
            data = 2; /* RACE 1 */
            rb_reach(1);
        }
        rb_await(1); /* the other thread runs it */
        data = 3;    /* RACE 2 */
    }
    data = 4;
    return rb_done();
}
