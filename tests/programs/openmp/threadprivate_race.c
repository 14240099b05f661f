/* A static variable that every thread of the team writes. */
#include "../order.h"
#include <omp.h>

int local;

int main(void)
{
    for (int turn = 0; turn < 2; turn++) {
#pragma omp parallel num_threads(2)
        local += omp_get_thread_num() + 1; /* RACE 1 RACE 2 */
    }
    return rb_done();
}
