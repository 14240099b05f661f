/* A loop with an ordered part: what is outside that part is not ordered. */
#include "../order.h"

long sum;

int main(void)
{
#pragma omp parallel for num_threads(2) schedule(static, 1) ordered
    for (int i = 0; i < 40; i++) {
        sum += i; /* RACE 1 RACE 2 */
#pragma omp ordered
        {
            rb_use(i);
        }
    }
    rb_use(sum);
    return rb_done();
}
