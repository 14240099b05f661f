/* Reads of 1, 2, 4, 8 and 16 bytes, then writes by a thread that nothing orders after the reader. */
#include "../order.h"
#include <stdint.h>

RB_APART uint8_t one;
RB_APART uint16_t two;
RB_APART uint32_t four;
RB_APART uint64_t eight;
RB_APART unsigned __int128 sixteen;

static void first(void)
{
    unsigned __int128 sum;

    sum = one;      /* RACE 1 */
    sum += two;     /* RACE 3 */
    sum += four;    /* RACE 5 */
    sum += eight;   /* RACE 7 */
    sum += sixteen; /* RACE 9 */
    rb_use((uint64_t)sum);
    rb_use((uint64_t)(sum >> 64));
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    one = 1;     /* RACE 2 */
    two = 1;     /* RACE 4 */
    four = 1;    /* RACE 6 */
    eight = 1;   /* RACE 8 */
    sixteen = 1; /* RACE 10 */
}

int main(void)
{
    return rb_both(first, second);
}
