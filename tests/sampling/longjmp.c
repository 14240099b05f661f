/*
 * longjmp N: N times, a call that is left by longjmp from three calls deeper, and calls after it. Under a
 * sampler by functions, what is counted as open must not grow.
 */
#include <setjmp.h>
#include <stdlib.h>

static jmp_buf out;
static long data[4];

__attribute__((noinline)) static void deep(int left)
{
    data[0]++;
    if (left == 0)
        longjmp(out, 1);
    deep(left - 1);
    data[1]++;
}

__attribute__((noinline)) static void leaf(void)
{
    data[2]++;
}

int main(int count, char **words)
{
    const long rounds = count > 1 ? atol(words[1]) : 1000;

    for (volatile long i = 0; i < rounds; i++) {
        if (!setjmp(out))
            deep(2);
        leaf();
    }
    return 0;
}
