/* Two sections write the same. */
#include "../order.h"

RB_APART int one, two;

int main(void)
{
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
        {
            one = 1; /* RACE 1 */
            rb_reach(1);
            rb_await(2); /* so that the other section has another thread */
        }
#pragma omp section
        {
            rb_await(1);
            one = 2; /* RACE 2 */
            rb_reach(2);
        }
    }
    one = two = 3;
    return rb_done();
}
