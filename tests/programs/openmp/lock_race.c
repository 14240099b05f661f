/* OpenMP's locks: each thread its own; a test that failed. */
#include "../order.h"
#include <omp.h>

RB_APART int locked, tested;
omp_lock_t locks[2], held;

int main(void)
{
    omp_init_lock(&locks[0]);
    omp_init_lock(&locks[1]);
    omp_init_lock(&held);
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
            omp_set_lock(&locks[0]);
            locked = 1; /* RACE 1 */
            omp_unset_lock(&locks[0]);
            omp_set_lock(&held);
            tested = 1; /* RACE 3 */
            rb_reach(1);
            rb_await(2);
            omp_unset_lock(&held);
        } else {
            rb_await(1);
            omp_set_lock(&locks[1]);
            locked = 2; /* RACE 2 */
            omp_unset_lock(&locks[1]);
            RB_CHECK(!omp_test_lock(&held));
            tested = 2; /* RACE 4 */
            rb_reach(2);
        }
    }
    omp_destroy_lock(&held);
    return rb_done();
}
