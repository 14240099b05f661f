/* What one thread prepares in a single construct with nowait is used by the others at once. */
#include "../order.h"

int data;

int main(void)
{
#pragma omp parallel num_threads(2)
    {
        int prepared_here = 0;

#pragma omp single nowait
        {
            data = 1; /* RACE 1 */
            prepared_here = 1;
            rb_reach(1);
        }
        rb_await(1);
        if (!prepared_here)
            rb_use(data); /* RACE 2 */
    }
    return rb_done();
}
