// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions whose frames look as different as compilers make them: frames found by rsp and by rbp, pushed
// arguments, stacks realigned, calls that are the last instruction, callbacks from libc, jumps. Built several
// times with other options; UNWIND_CASES_NAME is the table's name.
#include <alloca.h>
#include <stdarg.h>
#include <stdlib.h>

#include "unwind_cases.h"

#define CASE RB_NOINLINE static void

// After the call something is left to do, so that it is no tail call.
#define DONE(t) __asm__ volatile("" : "+m"((t)->sum))

CASE plain(struct trip *t)
{
    trip_on(t);
    DONE(t);
}

CASE twice(struct trip *t)
{
    trip_on(t);
    trip_on(t);
    DONE(t);
}

// Every register that a function has to keep is in use across the call, rbp among them.
CASE registers(struct trip *t)
{
    uint64_t a = rb_rng_next(&t->rng), b = a * 3, c = a ^ 99, d = a - 7, e = a << 3, f = a >> 5, g = a + 11;

    __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    trip_on(t);
    t->sum += a ^ b ^ c ^ d ^ e ^ f ^ g;
}

// rbp holds the loop's counter in most builds: it changes between calls from the same place.
CASE counts(struct trip *t)
{
    const uint64_t n = 1 + rb_rng_below(&t->rng, 3);

    for (uint64_t i = 0; i < n; i++) {
        trip_on(t);
        t->sum += i * n;
    }
}

CASE grows(struct trip *t)
{
    const size_t bytes = 1 + (size_t)rb_rng_below(&t->rng, 700);
    volatile char *p = alloca(bytes);

    p[0] = (char)bytes;
    trip_on(t);
    t->sum += (uint64_t)p[0];
}

CASE grows_in_loop(struct trip *t)
{
    for (int i = 0; i < 3; i++) {
        volatile char *p = alloca(16 + (size_t)rb_rng_below(&t->rng, 100));
        p[0] = (char)i;
        trip_on(t);
        t->sum += (uint64_t)p[0];
    }
}

CASE large(struct trip *t)
{
    volatile char room[20000];

    room[17] = 3;
    trip_on(t);
    t->sum += (uint64_t)room[17];
}

CASE realigned(struct trip *t)
{
    _Alignas(64) volatile char room[64];

    room[0] = (char)t->depth;
    trip_on(t);
    t->sum += (uint64_t)room[0] + (uintptr_t)room % 64;
}

CASE realigned_grows(struct trip *t)
{
    _Alignas(128) volatile char room[128];
    volatile char *p = alloca(8 + (size_t)rb_rng_below(&t->rng, 300));

    room[0] = p[0] = (char)t->depth;
    trip_on(t);
    t->sum += (uint64_t)room[0] + (uint64_t)p[0];
}

RB_NOINLINE static uint64_t many(struct trip *t, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                                 uint64_t f, uint64_t g, uint64_t h, uint64_t i)
{
    trip_on(t);
    return a + b + c + d + e + f + g + h + i;
}

CASE many_arguments(struct trip *t)
{
    const uint64_t x = rb_rng_next(&t->rng);

    t->sum += many(t, x, x + 1, x ^ 2, x * 3, x - 4, x | 5, x & 6, x << 7, x >> 8);
    t->sum ^= many(t, 1, 2, 3, 4, 5, 6, 7, x, 9);
}

RB_NOINLINE static uint64_t variadic(struct trip *t, int n, ...)
{
    uint64_t sum = 0;
    va_list list;

    trip_on(t);
    va_start(list, n);
    for (int i = 0; i < n; i++)
        sum += (uint64_t)va_arg(list, int);
    va_end(list);
    return sum;
}

CASE variable_arguments(struct trip *t)
{
    t->sum += variadic(t, 8, 1, 2, 3, 4, 5, 6, 7, (int)t->depth);
}

static __thread struct trip *sorting;

RB_NOINLINE static int compare(const void *a, const void *b)
{
    struct trip *t = sorting;

    trip_on(t);
    sorting = t; // others sort too
    return *(const int *)a - *(const int *)b;
}

CASE sorts(struct trip *t)
{
    int numbers[4] = {3, 1, 4, (int)rb_rng_below(&t->rng, 5)};

    sorting = t;
    qsort(numbers, 4, sizeof(int), compare);
    t->sum += (uint64_t)numbers[0];
}

CASE searches(struct trip *t)
{
    static const int numbers[4] = {1, 2, 3, 4};
    const int key = (int)rb_rng_below(&t->rng, 6);

    sorting = t;
    t->sum += bsearch(&key, numbers, 4, sizeof(int), compare) != NULL;
}

// Jumps out, from a call that is the function's last instruction: the return address is the next function's.
RB_NOINLINE __attribute__((noreturn)) static void leaves(struct trip *t)
{
    t->probe(t);
    longjmp(*t->escape, 1);
}

RB_NOINLINE static void jumps(struct trip *t)
{
    if (t->escape && t->budget % 2)
        leaves(t);
    trip_on(t);
    if (t->escape)
        leaves(t);
    DONE(t);
}

CASE jumped_over(struct trip *t)
{
    const unsigned depth = t->depth;
    jmp_buf *outer = t->escape;
    jmp_buf here;

    if (setjmp(here) == 0) {
        t->escape = &here;
        jumps(t);
    }
    t->escape = outer;
    t->depth = depth;
    trip_on(t);
    DONE(t);
}

// The frame is only set up when it is needed.
CASE shrink_wrapped(struct trip *t)
{
    if (t->budget % 3 == 0) {
        t->sum++;
        return;
    }
    const uint64_t a = rb_rng_next(&t->rng), b = a * 5;
    trip_on(t);
    t->sum += a ^ b;
    trip_on(t);
    t->sum += a + b;
}

CASE interrupted(struct trip *t)
{
    if (t->signals)
        trip_by_signal(t);
    else
        trip_on(t);
    DONE(t);
}

const trip_case UNWIND_CASES_NAME[UNWIND_CASES] = {
    plain,
    twice,
    registers,
    counts,
    grows,
    grows_in_loop,
    large,
    realigned,
    realigned_grows,
    many_arguments,
    variable_arguments,
    sorts,
    searches,
    jumped_over,
    shrink_wrapped,
    interrupted,
};
