/* A loop with an ordered part: it is run iteration after iteration. */
#include "../order.h"

long sum;

int main(void)
{
#pragma omp parallel for num_threads(2) schedule(static, 1) ordered
    for (int i = 0; i < 40; i++) {
#pragma omp ordered
        {
            sum += i;
            rb_use(i);
        }
    }
    rb_use(sum);
    return rb_done();
}
