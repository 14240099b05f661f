/* A sum without a reduction clause. */
#include "../order.h"

enum { SIZE = 100 };
int numbers[SIZE];

int main(void)
{
    long sum = 0;

    for (int i = 0; i < SIZE; i++)
        numbers[i] = i;
#pragma omp parallel for num_threads(2)
    for (int i = 0; i < SIZE; i++) {
        sum += numbers[i]; /* RACE 1 RACE 2 */
        rb_escape(&sum);
    }
    rb_use(sum);
    return rb_done();
}
