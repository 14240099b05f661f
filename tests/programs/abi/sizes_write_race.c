/* Writes of 1, 2, 4, 8 and 16 bytes by two threads that nothing orders. */
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
    rb_await(1);
    one = 2;     /* RACE 2 */
    two = 2;     /* RACE 4 */
    four = 2;    /* RACE 6 */
    eight = 2;   /* RACE 8 */
    sixteen = 2; /* RACE 10 */
}

int main(void)
{
    return rb_both(first, second);
}
