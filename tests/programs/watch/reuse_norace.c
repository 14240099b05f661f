/*
 * A block that new code reads is freed, and had again at the same place by the other thread, whose code is
 * asleep: what the first did to it is over.
 */
#include <malloc.h>

#include "fresh.h"

#define BYTES 2000 /* more than a thread keeps for itself */
static struct cell *volatile_block[ROUNDS];

__attribute__((noinline)) static void hot(struct cell *c, long v)
{
    c->value = v;
}

#define FRESH(n)                                                \
    __attribute__((noinline)) static long fresh_##n(long *from) \
    {                                                           \
        return *from + n;                                       \
    }
RB_EACH(FRESH)
#define NAME(n) fresh_##n,
static long (*const fresh[ROUNDS])(long *) = {RB_EACH(NAME)};

RB_UNSEEN void put(int i, struct cell *c)
{
    volatile_block[i] = c;
}

RB_UNSEEN struct cell *get(int i)
{
    return volatile_block[i];
}

static void seldom(void)
{
    long sum = 0;

    for (int i = 0; i < ROUNDS; i++) {
        rb_await(2 * i + 1);
        struct cell *c = calloc(1, BYTES);
        RB_CHECK(c != NULL);
        sum += fresh[i](&c->value);
        put(i, c);
        free(c);
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
        struct cell *c = malloc(BYTES);
        RB_CHECK(c != NULL);
        rb_use(c == get(i));
        hot(c, i);
        free(c);
    }
}

int main(void)
{
    mallopt(M_ARENA_MAX, 1);
    return rb_both(seldom, often);
}
