/*
 * A child of fork writes what new code of its parent reads, which is no race; then a thread does, which is.
 */
#include <sys/wait.h>

#include "fresh.h"

static void in_child(int i);

__attribute__((noinline)) static void hot(struct cell *c, long v)
{
    c->value = v; /* RACE 2 */
}

#define FRESH(n)                                                \
    __attribute__((noinline)) static long fresh_##n(long *from) \
    {                                                           \
        return *from + n;                                       \
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
        if (i % 8 == 0)
            in_child(i);
        hot(&cells[i], i);
    }
}

static void in_child(int i)
{
    int status = 0;
    const pid_t child = fork();

    RB_CHECK(child >= 0);
    if (child == 0) {
        hot(&cells[i], i);
        _exit(0);
    }
    RB_CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(void)
{
    rb_escape(cells);
    return rb_both(seldom, often);
}
