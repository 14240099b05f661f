/* One thread allocates and writes; copyprivate hands the block to the others. */
#include "../order.h"
#include <omp.h>

int main(void)
{
    long *block = NULL;

#pragma omp parallel num_threads(2) private(block)
    {
        int mine = 0;

#pragma omp single copyprivate(block)
        {
            block = malloc(16 * sizeof(*block));
            block[0] = 1;
            mine = 1;
            rb_reach(1);
        }
        rb_await(1);
        if (!mine)
            block[0] = 2;
    }
    return rb_done();
}
