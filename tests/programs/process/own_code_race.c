/* A program that makes its own code writable and writes there: what its threads do is looked at as before. */
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>

#include "../order.h"

#define ROUNDS 64

RB_APART static long sums[2][ROUNDS];

__attribute__((noinline)) static void add(long *to, long n)
{
    for (int i = 0; i < ROUNDS; i++)
        to[i] += n;
    if (to[0] < 0)
        to[1] = to[2] = to[3] = 0;
}

RB_APART long last;

static void first(void)
{
    for (long n = 0; !rb_at(1); n++)
        add(sums[0], n % 3);
    last = 1; /* RACE 1 */
    rb_reach(2);
}

static void second(void)
{
    for (long n = 0; !rb_at(1); n++)
        add(sums[1], n % 5);
    rb_await(2);
    last = 2; /* RACE 2 */
}

RB_UNSEEN long now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The same byte again and again. */
RB_UNSEEN void write_code(void)
{
    volatile unsigned char *code = (volatile unsigned char *)(uintptr_t)add;
    const long page = sysconf(_SC_PAGESIZE), end = now_ms() + 300;

    if (mprotect((void *)((uintptr_t)code & (uintptr_t)-page), (size_t)page,
                 PROT_READ | PROT_WRITE | PROT_EXEC))
        return; /* not here */
    while (now_ms() < end)
        *code = *code;
}

int main(void)
{
    pthread_t a = rb_start(first), b = rb_start(second);

    usleep(50000);
    write_code();
    rb_reach(1);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return rb_done();
}
