/* Two teams inside a team: a thread of each writes the same. */
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
            if (inner == 1 && outer == 0) {
                data = 1; /* RACE 1 */
                rb_reach(1);
                rb_await(2); /* so that the other team does not get this thread */
            } else if (inner == 1) {
                rb_await(1);
                data = 2; /* RACE 2 */
                rb_reach(2);
            }
        }
        cells[outer][0] = cells[outer][1] + 1;
    }
    RB_CHECK(cells[0][0] == 2 && cells[1][0] == 2);
    return rb_done();
}
