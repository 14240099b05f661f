/* read writes its buffer and write reads it, on behalf of their callers. */
#include "../order.h"

enum { TOUCHED = 3 };
int in[2], out[2];
RB_APART char filled[16], sent[16];

static void first(void)
{
    RB_CHECK(read(in[0], filled, sizeof(filled)) == 8); /* RACE 1 */
    RB_CHECK(write(out[1], sent, 8) == 8);              /* RACE 3 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    filled[TOUCHED] = 'x'; /* RACE 2 */
    sent[TOUCHED] = 'x';   /* RACE 4 */
}

int main(void)
{
    RB_CHECK(pipe(in) == 0 && pipe(out) == 0);
    RB_CHECK(write(in[1], "12345678", 8) == 8);
    return rb_both(first, second);
}
