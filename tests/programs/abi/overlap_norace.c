/* Accesses of different sizes that touch without sharing a byte. */
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
    small.words[0] = 1;
    inside.longs[0] = 1;
    half.words[0] = 1;
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    rb_use(small.bytes[4]);
    inside.bytes[8] = 2;
    half.words[1] = 2;
}

int main(void)
{
    return rb_both(first, second);
}
