/*
 * rates N: one thread calls four functions in turn, N times each; a call makes 8 accesses, 4 reads and 4
 * writes. What share of it is sampled is known for every sampler.
 */
#include <stdlib.h>

static long data[4][4];

#define ADD(n)                                                \
    __attribute__((noinline)) static void add##n(long *place) \
    {                                                         \
        for (int i = 0; i < 4; i++)                           \
            place[i] += n;                                    \
    }
ADD(1)
ADD(2)
ADD(3)
ADD(4)

int main(int count, char **words)
{
    const long rounds = count > 1 ? atol(words[1]) : 1000;

    for (long i = 0; i < rounds; i++) {
        add1(data[0]);
        add2(data[1]);
        add3(data[2]);
        add4(data[3]);
    }
    return 0;
}
