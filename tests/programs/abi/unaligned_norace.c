/*
 * Four bytes that lie across a boundary of eight: the second thread touches the bytes directly behind and
 * before them, which are not theirs.
 */
#include "../order.h"
#include <stdint.h>

struct __attribute__((packed)) crossing {
    char before[6];
    uint32_t across; /* bytes 6 to 9 */
    char after[6];
};

_Alignas(16) struct crossing data;
char *bytes = (char *)&data;

static void first(void)
{
    data.across = 0x01020304;
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    bytes[10] = 1;
    bytes[5] = 1;
}

int main(void)
{
    return rb_both(first, second);
}
