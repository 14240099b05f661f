/* Tasks that depend on each other are ordered, whatever thread runs them. */
#include "../order.h"

RB_APART int data, other;

int main(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task depend(out : data)
        {
            data = 1;
            rb_reach(1);
        }
        rb_await(1);
#pragma omp task depend(in : data)
        {
            rb_await(1);
            data = 2;
            rb_reach(2);
        }
#pragma omp task depend(inout : data)
        data = 3;
    }
    return rb_done();
}
