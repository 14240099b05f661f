/* The thread that created tasks waits for them before it uses what they write. */
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
            data = 2;
            rb_reach(1);
        }
        rb_await(1); /* the other thread runs it */
#pragma omp taskwait
        data = 3;
    }
    data = 4;
    return rb_done();
}
