/* A sum, a maximum and an array with reduction clauses. */
#include "../order.h"

enum { SIZE = 100 };
int numbers[SIZE];

int main(void)
{
    long sum = 0;
    int most = 0, parts[4] = {0};

    for (int i = 0; i < SIZE; i++)
        numbers[i] = i;
#pragma omp parallel for num_threads(2) reduction(+ : sum, parts) reduction(max : most)
    for (int i = 0; i < SIZE; i++) {
        sum += numbers[i];
        rb_escape(&sum);
        parts[i % 4]++;
        most = numbers[i] > most ? numbers[i] : most;
    }
    RB_CHECK(sum == 4950 && most == 99 && parts[0] + parts[1] + parts[2] + parts[3] == SIZE);
    rb_use(sum);
    return rb_done();
}
