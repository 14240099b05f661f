/* Two tasks of one parent write data of their own, with private copies from their parent. */
#include "../order.h"

RB_APART int one, two;

int main(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        int value = 7;

#pragma omp task firstprivate(value)
        {
            one = value;
            rb_reach(1);
            rb_await(2); /* so that the other task has another thread */
        }
        value = 8;
#pragma omp task firstprivate(value)
        {
            rb_await(1);
            two = value;
            rb_reach(2);
        }
    }
    one = two = 3;
    return rb_done();
}
