/*
 * A write by new code, then a read by code that has long been asleep: nothing orders them.
 */
#include "fresh.h"

long idle_too[ROUNDS];

__attribute__((noinline)) static void hot(struct cell *c, long v)
{
    rb_use(c->value + v); /* RACE 2 */
}

#define FRESH(n)                                                         \
    __attribute__((noinline)) static long fresh_##n(long *to)            \
    {                                                                    \
        *to = n;                                                         \
        return idle_too[n]; /* a second access: now the first is past */ \
    }
RB_EACH(FRESH) /* RACE 1 */
#define NAME(n) fresh_##n,
static long (*const fresh[ROUNDS])(long *) = {RB_EACH(NAME)};

static void seldom(void)
{
    long sum = 0;

    for (int i = 0; i < ROUNDS; i++) {
        rb_await(2 * i + 1);
        sum += fresh[i](&cells[i].value);
        rb_reach(2 * i + 2);
    }
    rb_use(sum);
}

static void often(void)
{
    for (long i = 0; i < RB_WARM; i++)
        hot(&idle, i);
    for (int i = 0; i < ROUNDS; i++) {
        for (long k = 0; k < RB_REST; k++)
            hot(&idle, k);
        rb_reach(2 * i + 1);
        rb_await(2 * i + 2);
        hot(&cells[i], i);
    }
}

int main(void)
{
    rb_escape(cells);
    return rb_both(seldom, often);
}
