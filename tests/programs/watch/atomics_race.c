/*
 * A read by new code and a relaxed atomic operation, then that one again and a write by code asleep: relaxed
 * orders nothing.
 */
#include <stdatomic.h>

#include "fresh.h"

static _Atomic long flags[ROUNDS];

__attribute__((noinline)) static void hot(struct cell *c, _Atomic long *flag, long v)
{
    rb_use(c->value);
    atomic_fetch_add_explicit(flag, v, memory_order_relaxed);
    atomic_exchange_explicit(flag, v, memory_order_relaxed);
}

__attribute__((noinline)) static void last(struct cell *c, long v)
{
    c->value = v; /* RACE 2 */
}

#define FRESH(n)                                                                    \
    __attribute__((noinline)) static long fresh_##n(long *from, _Atomic long *flag) \
    {                                                                               \
        const long seen = *from;                                                    \
        return seen + atomic_fetch_add_explicit(flag, 1, memory_order_relaxed);     \
    }
RB_EACH(FRESH) /* RACE 1 */
#define NAME(n) fresh_##n,
static long (*const fresh[ROUNDS])(long *, _Atomic long *) = {RB_EACH(NAME)};

static void seldom(void)
{
    long sum = 0;

    for (int i = 0; i < ROUNDS; i++) {
        rb_await(2 * i + 1);
        sum += fresh[i](&cells[i].value, &flags[i]);
        rb_reach(2 * i + 2);
    }
    rb_use(sum);
}

static void often(void)
{
    static _Atomic long own;

    for (int i = 0; i < ROUNDS; i++) {
        for (long k = 0; k < RB_REST / 4; k++) {
            hot(&idle, &own, k);
            last(&idle, k);
        }
        rb_reach(2 * i + 1);
        rb_await(2 * i + 2);
        RB_CHECK(atomic_load_explicit(&flags[i], memory_order_relaxed) == 1);
        last(&cells[i], i);
        hot(&cells[i], &flags[i], i);
    }
}

int main(void)
{
    rb_escape(cells);
    return rb_both(seldom, often);
}
