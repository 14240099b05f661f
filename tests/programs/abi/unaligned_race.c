/*
 * Four bytes that lie across a boundary of eight: the second thread touches the part behind the boundary,
 * then the part before it.
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
    data.across = 0x01020304; /* RACE 1 RACE 3 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    bytes[9] = 1; /* RACE 2 */
    bytes[6] = 1; /* RACE 4 */
}

int main(void)
{
    return rb_both(first, second);
}
