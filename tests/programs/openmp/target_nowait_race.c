/* A target task on the host, and its parent, which does not wait for it. */
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
            one = value; /* RACE 1 */
            rb_reach(1);
        }
        rb_await(1);
#pragma omp task if (0)
        three = 5;
        one = 8; /* RACE 2 */
#pragma omp task depend(in : one)
        two = 9;
#pragma omp taskwait
        two++;
    }
    one = two = 3;
    return rb_done();
}
