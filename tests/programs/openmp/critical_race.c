/* Two critical sections of different names exclude nobody from each other. */
#include "../order.h"
#include <omp.h>

RB_APART long plain, named;

int main(void)
{
#pragma omp parallel num_threads(2)
    {
#pragma omp critical
        plain++;
        if (omp_get_thread_num() == 0) {
#pragma omp critical(one)
            named = 1; /* RACE 1 */
            rb_reach(1);
        } else {
            rb_await(1);
#pragma omp critical(two)
            named = 2; /* RACE 2 */
        }
    }
    RB_CHECK(plain == 2);
    return rb_done();
}
