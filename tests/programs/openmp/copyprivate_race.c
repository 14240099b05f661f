/* One thread allocates and writes; the others find the block by a shared variable, and write as well. */
#include "../order.h"
#include <omp.h>

int main(void)
{
    long *block = NULL;

    block = malloc(16 * sizeof(*block));
#pragma omp parallel num_threads(2)
    {
        int mine = 0;

#pragma omp single nowait
        {
            block[0] = 1; /* RACE 1 */
            mine = 1;
            rb_reach(1);
        }
        rb_await(1);
        if (!mine)
            block[0] = 2; /* RACE 2 */
    }
    return rb_done();
}
