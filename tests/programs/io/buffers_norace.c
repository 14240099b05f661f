/* read writes no more of its buffer than came, write reads no more than it sends. */
#include "../order.h"

enum { TOUCHED = 12 };
int in[2], out[2];
RB_APART char filled[16], sent[16];

static void first(void)
{
    RB_CHECK(read(in[0], filled, sizeof(filled)) == 8);
    RB_CHECK(write(out[1], sent, 8) == 8);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    filled[TOUCHED] = 'x';
    sent[TOUCHED] = 'x';
}

int main(void)
{
    RB_CHECK(pipe(in) == 0 && pipe(out) == 0);
    RB_CHECK(write(in[1], "12345678", 8) == 8);
    return rb_both(first, second);
}
