/* Loops shared out dynamically, guided and at run time, an element for each iteration. */
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
        }
#pragma omp for schedule(guided)
        for (int i = 0; i < SIZE; i++) {
            cells[i]++;
        }
#pragma omp for schedule(runtime)
        for (int i = 0; i < SIZE; i++)
            cells[i]++;
    }
    rb_use(cells[0] + dynamic + guided);
    return rb_done();
}
