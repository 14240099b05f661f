/* The tasks of a taskloop share a variable. */
#include "../order.h"

enum { SIZE = 8 };
RB_APART int shared, cells[SIZE];

int main(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp taskloop num_tasks(2)
        for (int i = 0; i < 2; i++) {
            if (i == 0) {
                shared = 1; /* RACE 1 */
                rb_reach(1);
                rb_await(2); /* so that the other task has another thread */
            } else {
                rb_await(1);
                shared = 2; /* RACE 2 */
                rb_reach(2);
            }
        }
    }
    rb_use(shared + cells[0]);
    return rb_done();
}
