/*
 * Accesses of different sizes that share a byte: a small one inside a large one, and two that only overlap.
 */
#include "../order.h"
#include <stdint.h>

struct __attribute__((packed)) pair {
    uint16_t low;
    uint32_t high;
};

union {
    uint8_t bytes[16];
    uint32_t words[4];
    uint64_t longs[2];
    struct pair pair;
} small, inside, half;

static void first(void)
{
    small.words[0] = 1;  /* RACE 1 */
    inside.longs[0] = 1; /* RACE 3 */
    half.words[0] = 1;   /* RACE 5 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    rb_use(small.bytes[3]); /* RACE 2 */
    inside.bytes[7] = 2;    /* RACE 4 */
    half.pair.high = 2;     /* RACE 6 */
}

int main(void)
{
    return rb_both(first, second);
}
