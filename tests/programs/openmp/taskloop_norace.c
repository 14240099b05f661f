/* The tasks of a taskloop have their own elements, and are waited for at its end. */
#include "../order.h"

enum { SIZE = 8 };
RB_APART int shared, cells[SIZE];

int main(void)
{
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp taskloop num_tasks(4)
        for (int i = 0; i < SIZE; i++)
            cells[i] = i;
        for (int i = 0; i < SIZE; i++)
            RB_CHECK(cells[i] == i);
    }
    rb_use(shared + cells[0]);
    return rb_done();
}
