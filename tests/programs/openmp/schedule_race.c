/* Loops shared out dynamically and guided, with a counter for all. */
#include "../order.h"
#include <omp.h>

enum { SIZE = 200 };
RB_APART int dynamic, guided, cells[SIZE];

int main(void)
{
    omp_set_schedule(omp_sched_dynamic, 3);
#pragma omp parallel num_threads(2)
    {
#pragma omp for schedule(dynamic, 2)
        for (int i = 0; i < SIZE; i++) {
            cells[i] = i;
            if (i == 0) {
                dynamic++; /* RACE 1 */
                rb_reach(1);
                rb_await(2);
            } else if (i == 2) { /* another chunk, and the first thread is held up in its own */
                rb_await(1);
                dynamic++; /* RACE 2 */
                rb_reach(2);
            }
        }
#pragma omp for schedule(guided)
        for (int i = 0; i < SIZE; i++) {
            cells[i]++;
            if (i == 0) {
                guided++; /* RACE 3 */
                rb_reach(3);
                rb_await(4);
            } else if (i == SIZE - 1) {
                rb_await(3);
                guided++; /* RACE 4 */
                rb_reach(4);
            }
        }
    }
    rb_use(cells[0] + dynamic + guided);
    return rb_done();
}
