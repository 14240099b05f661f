/* OpenMP's nestable locks; written between the two unsets. */
#include "../order.h"
#include <omp.h>

int data;
omp_nest_lock_t lock;

int main(void)
{
    omp_init_nest_lock(&lock);
#pragma omp parallel num_threads(2)
    {
        if (omp_get_thread_num() == 0) {
            omp_set_nest_lock(&lock);
            omp_set_nest_lock(&lock);
            omp_unset_nest_lock(&lock);
            data = 1;
            omp_unset_nest_lock(&lock);
            rb_reach(1);
        } else {
            rb_await(1);
            omp_set_nest_lock(&lock);
            data = 2;
            omp_unset_nest_lock(&lock);
        }
    }
    omp_destroy_nest_lock(&lock);
    return rb_done();
}
