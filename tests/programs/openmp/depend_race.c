/* Two tasks that depend on different things write the same. */
#include "../order.h"

RB_APART int data, other;

int main(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task depend(out : data)
        {
            data = 1; /* RACE 1 */
            rb_reach(1);
            rb_await(2); /* so that the other task has another thread */
        }
        rb_await(1);
#pragma omp task depend(in : other)
        {
            rb_await(1);
            data = 2; /* RACE 2 */
            rb_reach(2);
        }
    }
    return rb_done();
}
