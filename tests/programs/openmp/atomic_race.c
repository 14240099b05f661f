/* An atomic update and a plain read. */
#include "../order.h"
#include <omp.h>

RB_APART int counter, plain;

int main(void)
{
#pragma omp parallel num_threads(2)
    {
        int seen;

#pragma omp atomic
        plain++;
        if (omp_get_thread_num() == 0) {
#pragma omp atomic
            counter += 2; /* RACE 1 */
            rb_reach(1);
        } else {
            rb_await(1);
            seen = counter; /* RACE 2 */
            rb_use(seen);
        }
    }
    RB_CHECK(plain == 2);
    return rb_done();
}
