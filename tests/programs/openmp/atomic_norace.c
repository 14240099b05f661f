/* Atomic updates, reads, writes and captures. */
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
            counter += 2;
            rb_reach(1);
        } else {
            rb_await(1);
#pragma omp atomic read
            seen = counter;
            rb_use(seen);
        }
#pragma omp atomic capture
        seen = counter++;
        rb_use(seen);
    }
    RB_CHECK(plain == 2);
    return rb_done();
}
