/* A target task on the host, a task that depends on it, and its parent, which waits for both. */
#include "../order.h"

RB_APART int one, two, three;

int main(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
        int value = 7;

#pragma omp target map(tofrom : one) firstprivate(value) depend(out : one) nowait
        {
            one = value;
            rb_reach(1);
        }
        rb_await(1);
#pragma omp task if (0)
        three = 5;
        value = 8;
#pragma omp task depend(in : one)
        two = one;
#pragma omp taskwait
        one = two + value;
    }
    one = two = 3;
    return rb_done();
}
