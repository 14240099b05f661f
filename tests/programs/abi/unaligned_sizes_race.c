/*
 * Unaligned reads of 2, 4, 8 and 16 bytes across a boundary of eight; their last byte was written by another
 * thread.
 */
#include "../order.h"
#include <stdint.h>

struct __attribute__((packed)) crossing {
    char before[7];
    uint16_t two; /* 7, 8 */
    char between[6];
    uint32_t four; /* 15 to 18 */
    char more[4];
    uint64_t eight; /* 23 to 30 */
    char again[8];
    unsigned __int128 sixteen; /* 39 to 54 */
    char after[9];
};

_Alignas(64) struct crossing data;
char *bytes = (char *)&data;

static void first(void)
{
    bytes[8] = 1;  /* RACE 1 */
    bytes[18] = 1; /* RACE 3 */
    bytes[30] = 1; /* RACE 5 */
    bytes[54] = 1; /* RACE 7 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    rb_use(data.two);                       /* RACE 2 */
    rb_use(data.four);                      /* RACE 4 */
    rb_use(data.eight);                     /* RACE 6 */
    rb_use((uint64_t)(data.sixteen >> 64)); /* RACE 8 */
}

int main(void)
{
    return rb_both(first, second);
}
