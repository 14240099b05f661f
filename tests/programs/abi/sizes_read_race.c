/* Writes, then reads of the same 1, 2, 4, 8 and 16 bytes by a thread that nothing orders after the writer. */
#include "../order.h"
#include <stdint.h>

RB_APART uint8_t one;
RB_APART uint16_t two;
RB_APART uint32_t four;
RB_APART uint64_t eight;
RB_APART unsigned __int128 sixteen;

static void first(void)
{
    one = 1;     /* RACE 1 */
    two = 1;     /* RACE 3 */
    four = 1;    /* RACE 5 */
    eight = 1;   /* RACE 7 */
    sixteen = 1; /* RACE 9 */
    rb_reach(1);
}

static void second(void)
{
    unsigned __int128 sum;

    rb_await(1);
    sum = one;      /* RACE 2 */
    sum += two;     /* RACE 4 */
    sum += four;    /* RACE 6 */
    sum += eight;   /* RACE 8 */
    sum += sixteen; /* RACE 10 */
    rb_use((uint64_t)sum);
    rb_use((uint64_t)(sum >> 64));
}

int main(void)
{
    return rb_both(first, second);
}
