/*
 * Two teams inside a team: each thread has its own place, and each team's end orders it before what follows.
 */
#include "../order.h"
#include <omp.h>

int cells[2][2], data;

int main(void)
{
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)
    {
        int outer = omp_get_thread_num();

#pragma omp parallel num_threads(2)
        {
            int inner = omp_get_thread_num();

            cells[outer][inner] = 1;
        }
        cells[outer][0] = cells[outer][1] + 1;
    }
    RB_CHECK(cells[0][0] == 2 && cells[1][0] == 2);
    return rb_done();
}
