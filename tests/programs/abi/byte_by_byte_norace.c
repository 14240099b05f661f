/*
 * Neighbouring bytes written one by one, by as many instructions and by a loop, of which the other thread
 * reads those that were not written.
 */
#include "../order.h"

#define LINE     32
#define LINES    16
#define ONE(i)   bytes[i] = i
#define THREE(i) ONE(i), ONE(i + 1), ONE(i + 2)

static volatile unsigned char bytes[LINE] __attribute__((aligned(LINE)));
static volatile unsigned char more[LINES][LINE] __attribute__((aligned(LINE)));

static void first(void)
{
    THREE(0), THREE(4), THREE(8), THREE(12), THREE(16), THREE(20), THREE(24), THREE(28);
    for (int i = 0; i < LINES; i++)
        for (int k = 0; k < LINE; k += 2)
            more[i][k] = 1;
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    rb_use(bytes[7]);
    for (int i = 0; i < LINES; i++)
        rb_use(more[i][7]);
}

int main(void)
{
    return rb_both(first, second);
}
