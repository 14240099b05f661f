/*
 * Neighbouring bytes written one by one, by as many instructions and by a loop. The last of them to be
 * written are not all that is remembered: the other thread reads one from the middle of each line.
 */
#include "../order.h"

#define LINE    32
#define LINES   16
#define ONE(i)  bytes[i] = i
#define FOUR(i) ONE(i), ONE(i + 1), ONE(i + 2), ONE(i + 3)

static volatile unsigned char bytes[LINE] __attribute__((aligned(LINE)));
static volatile unsigned char more[LINES][LINE] __attribute__((aligned(LINE)));

static void first(void)
{
    FOUR(0), FOUR(4), FOUR(8), FOUR(12), FOUR(16), FOUR(20), FOUR(24), FOUR(28); /* RACE 1 */
    for (int i = 0; i < LINES; i++)
        for (int k = 0; k < LINE; k++)
            more[i][k] = 1; /* RACE 3 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    rb_use(bytes[7]); /* RACE 2 */
    for (int i = 0; i < LINES; i++)
        rb_use(more[i][7]); /* RACE 4 */
}

int main(void)
{
    return rb_both(first, second);
}
