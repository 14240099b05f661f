/*
 * What the pairs of this folder share: rounds in which one thread comes to a cell by code that has never run,
 * which every sampler looks at, and another by code that has run so often that its call site sleeps. Only a
 * watchpoint sees the second. In the order of order.h: nothing happens before anything by it.
 */
#ifndef RB_FRESH_H
#define RB_FRESH_H

#include "../order.h"

#define ROUNDS 32

struct cell {
    long RB_APART value;
    long rest[6];
};
static struct cell cells[ROUNDS] __attribute__((unused)), idle;

/* F(n) for each of ROUNDS numbers. */
#define RB_EACH(F)                                                                                       \
    F(0)                                                                                                 \
    F(1)                                                                                                 \
    F(2)                                                                                                 \
    F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11) F(12) F(13) F(14) F(15) F(16) F(17) F(18) F(19) F(20) \
        F(21) F(22) F(23) F(24) F(25) F(26) F(27) F(28) F(29) F(30) F(31)

/* Time goes by for the ticker, and `hot` runs on a cell that nobody else has. */
#define RB_WARM 200000
#define RB_REST 40000

#endif
