// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Jobs that threads of the library run: each reads what was written before it was added, and its result is read after
// the wait. RACE: the main thread writes while a job does, which no order of the library prevents.
#include "programs/order.h"
#include "unseen/library.h"

#define JOBS 200

static long in[JOBS], out[JOBS];
static long outside RB_APART;

static void square(void *argument)
{
    const long i = (long)argument;

    out[i] = in[i] * in[i];
}

#ifdef RACE
static void write_outside(void *unused)
{
    (void)unused;
    outside = 1;
    rb_reach(1);
    rb_await(2);
}
#endif

int main(void)
{
    quiet_pool_start(3);
    for (int round = 1; round <= 5; round++) {
        long sum = 0;
        for (long i = 0; i < JOBS; i++) {
            in[i] = i + round;
            quiet_pool_add(square, (void *)i);
        }
        quiet_pool_wait();
        for (long i = 0; i < JOBS; i++)
            sum += out[i] - (i + round) * (i + round);
        RB_CHECK(sum == 0);
    }
#ifdef RACE
    quiet_pool_add(write_outside, NULL);
    rb_await(1);
    outside = 2;
    rb_reach(2);
    quiet_pool_wait();
#endif
    quiet_pool_stop();
    outside++;
    puts("done");
    return 0;
}
