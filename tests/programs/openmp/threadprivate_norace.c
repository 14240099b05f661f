/* A threadprivate variable: a copy for each thread, kept from region to region. */
#include "../order.h"
#include <omp.h>

int local;
#pragma omp threadprivate(local)

int main(void)
{
    for (int turn = 0; turn < 2; turn++) {
#pragma omp parallel num_threads(2)
        local += omp_get_thread_num() + 1;
    }
    RB_CHECK(local == 2);
    return rb_done();
}
