/*
 * A read by new code, then a write by code that has long been asleep: each under the same mutex.
 */
#include "fresh.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

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

static void seldom(void)
{
    long sum = 0;

    for (int i = 0; i < ROUNDS; i++) {
        rb_await(2 * i + 1);
        pthread_mutex_lock(&mutex);
        sum += fresh[i](&cells[i].value);
        pthread_mutex_unlock(&mutex);
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
        pthread_mutex_lock(&mutex);
        hot(&cells[i], i);
        pthread_mutex_unlock(&mutex);
    }
}

int main(void)
{
    rb_escape(cells);
    return rb_both(seldom, often);
}
