/* What one thread prepares in a single construct is used by the others behind its implied barrier. */
#include "../order.h"

int data;

int main(void)
{
#pragma omp parallel num_threads(2)
    {
        int prepared_here = 0;

#pragma omp single
        {
            data = 1;
            prepared_here = 1;
            rb_reach(1);
        }
        rb_await(1);
        if (!prepared_here)
            rb_use(data);
    }
    return rb_done();
}
