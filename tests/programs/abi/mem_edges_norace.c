/* memcpy between bytes that another thread writes: the granules are shared, the bytes are not. */
#include "../order.h"
#include <string.h>

enum { SIZE = 5000, ROUNDS = 50 };
RB_APART char source[ROUNDS][SIZE + 16], copied[ROUNDS][SIZE + 16];
size_t size = SIZE;

static void first(void)
{
    for (int i = 0; i < ROUNDS; i++) {
        source[i][2] = source[i][3 + SIZE] = 1;
        copied[i][4] = copied[i][5 + SIZE] = 1;
    }
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    for (int i = 0; i < ROUNDS; i++)
        memcpy(copied[i] + 5, source[i] + 3, size);
}

int main(void)
{
    return rb_both(first, second);
}
