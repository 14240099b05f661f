/* Two sections write data of their own, and are both ordered before what follows. */
#include "../order.h"

RB_APART int one, two;

int main(void)
{
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
        {
            one = 1;
            rb_reach(1);
            rb_await(2); /* so that the other section has another thread */
        }
#pragma omp section
        {
            rb_await(1);
            two = 2;
            rb_reach(2);
        }
    }
    one = two = 3;
    return rb_done();
}
