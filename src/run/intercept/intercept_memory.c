// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Memory and strings: the rows of memory.def, and the functions that are needed before the
// real ones can be looked up. gcc, and clang before 19, call memcpy, memmove and memset by
// their own names; clang 19 has hooks for them.
//
// The runtime's own files may call these too, inside the guard or before the
// start. The touches detect that and do nothing.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <wchar.h>

#include "run/intercept/callers.h"
#include "run/intercept/intercept.h"

// ---- before the start ----------------------------------------------------------------------------------
// Looking up a function may itself call these. Until the real one is found, loops are used that the
// compiler cannot turn into calls.

#if !defined(RB_STATIC)
#define REAL_OR(name, simple) (RB_LIKELY(rb_load_relaxed(&rb_real.name) != NULL) ? rb_real.name : (simple))

static void *simple_copy(void *to, const void *from, size_t n)
{
    void *at = to;

    __asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(n)::"memory");
    return to;
}

static void *simple_move(void *to, const void *from, size_t n)
{
    volatile char *t = to;
    const volatile char *f = from;

    if ((uintptr_t)to - (uintptr_t)from >= n)
        return simple_copy(to, from, n);
    while (n--)
        t[n] = f[n];
    return to;
}

static void *simple_set(void *to, int c, size_t n)
{
    void *at = to;

    __asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(c) : "memory");
    return to;
}

static int simple_compare(const void *a, const void *b, size_t n)
{
    const volatile unsigned char *p = a, *q = b;

    for (; n && *p == *q; n--)
        p++, q++;
    return n ? *p - *q : 0;
}

static size_t simple_length(const char *s)
{
    const volatile char *end = s;

    while (*end)
        end++;
    return (size_t)(end - s);
}

static int simple_compare_text(const char *a, const char *b)
{
    const volatile unsigned char *p = (const volatile unsigned char *)a,
                                 *q = (const volatile unsigned char *)b;

    while (*p && *p == *q)
        p++, q++;
    return *p - *q;
}

// A program that is not instrumented never starts the runtime, but
// its calls pass through these all the same.
static __attribute__((constructor(101))) void find_real(void)
{
    rb_real_find((void **)(void *)&rb_real.memcpy, "memcpy");
    rb_real_find((void **)(void *)&rb_real.memmove, "memmove");
    rb_real_find((void **)(void *)&rb_real.memset, "memset");
    rb_real_find((void **)(void *)&rb_real.memcmp, "memcmp");
    rb_real_find((void **)(void *)&rb_real.strlen, "strlen");
    rb_real_find((void **)(void *)&rb_real.strcmp, "strcmp");
}

// ---- how far a function has read -----------------------------------------------------------------------

#define LENGTH(s)           REAL_OR(strlen, simple_length)(s)
#define LENGTH_WITHIN(s, n) RB_REAL(strnlen)(s, n)
#define UNTIL(s, r)         ((size_t)((const char *)(r) - (const char *)(s)) + 1)
#define SPACE(n, most)      ((n) < (most) ? (n) + 1 : (most))
#define WIDE(n)             ((n) * sizeof(wchar_t))
#define WIDE_LENGTH(s)      RB_REAL(wcslen)(s)
#define EQUAL(a, b, n)      equal_bytes(a, b, n)
#define EQUAL_TEXT(a, b, n) equal_text(a, b, n)

static size_t equal_bytes(const void *a, const void *b, size_t n)
{
    const volatile char *p = a, *q = b;
    size_t i = 0;

    while (i < n && p[i] == q[i])
        i++;
    return i < n ? i + 1 : n;
}

static size_t equal_text(const char *a, const char *b, size_t n)
{
    const volatile char *p = a, *q = b;
    size_t i = 0;

    while (i < n && p[i] && p[i] == q[i])
        i++;
    return i < n ? i + 1 : n;
}

// ---- while tracking is paused, and skipped accesses ----------------------------------------------------
// The fast path is one comparison and a jump, or two. The rest is in a function apart, so that registers
// are saved there alone. `pc` in it is the caller's.

#define RB_LIST(...) __VA_ARGS__
#define RB_WATCHED(ret, name, params, args)                                             \
    static RB_NOINLINE ret watched_##name(uintptr_t pc, RB_LIST params);                \
    RB_INTERCEPT(ret, name, params)                                                     \
    {                                                                                   \
        return rb_idle() || rb_passes_odd_call() ? RB_FOUND(name) args                  \
                                                 : watched_##name(RB_PC, RB_LIST args); \
    }                                                                                   \
    static RB_NOINLINE ret watched_##name(uintptr_t pc, RB_LIST params)
#pragma GCC diagnostic ignored "-Wpedantic" // bzero returns nothing, by `return`

#undef READ
#undef WRITE
#define READ(address, size)  RB_TOUCH_AT(RB_HOW_READ, address, size, pc)
#define WRITE(address, size) RB_TOUCH_AT(RB_HOW_WRITE, address, size, pc)

// ---- blocks --------------------------------------------------------------------------------------------

RB_WATCHED(void *, memcpy, (void *to, const void *from, size_t n), (to, from, n))
{
    READ(from, n);
    WRITE(to, n);
    return REAL_OR(memcpy, simple_copy)(to, from, n);
}

RB_WATCHED(void *, memmove, (void *to, const void *from, size_t n), (to, from, n))
{
    READ(from, n);
    WRITE(to, n);
    return REAL_OR(memmove, simple_move)(to, from, n);
}

RB_WATCHED(void *, memset, (void *to, int c, size_t n), (to, c, n))
{
    WRITE(to, n);
    return REAL_OR(memset, simple_set)(to, c, n);
}

RB_WATCHED(int, memcmp, (const void *a, const void *b, size_t n), (a, b, n))
{
    const int r = REAL_OR(memcmp, simple_compare)(a, b, n);

    READ(a, r ? equal_bytes(a, b, n) : n);
    READ(b, r ? equal_bytes(a, b, n) : n);
    return r;
}

RB_WATCHED(size_t, strlen, (const char *s), (s))
{
    const size_t r = LENGTH(s);

    READ(s, r + 1);
    return r;
}

RB_WATCHED(int, strcmp, (const char *a, const char *b), (a, b))
{
    const int r = REAL_OR(strcmp, simple_compare_text)(a, b);

    READ(a, equal_text(a, b, SIZE_MAX));
    READ(b, equal_text(a, b, SIZE_MAX));
    return r;
}

// ---- text made -----------------------------------------------------------------------------------------

// A variadic function, by way of its partner that takes a list.
#define RB_MAKES_TEXT(name, params, partner, args, touches) \
    RB_INTERCEPT(int, name, params)                         \
    {                                                       \
        va_list list;                                       \
        va_start(list, format);                             \
        const int r = RB_REAL(partner) args;                \
        va_end(list);                                       \
        const uintptr_t pc = RB_PC;                         \
        touches;                                            \
        return r;                                           \
    }
RB_MAKES_TEXT(snprintf, (char *to, size_t n, const char *format, ...), vsnprintf, (to, n, format, list),
              WRITE(to, r < 0 ? 0 : SPACE((size_t)r, n)))
RB_MAKES_TEXT(__snprintf_chk, (char *to, size_t n, int flag, size_t room, const char *format, ...),
              __vsnprintf_chk, (to, n, flag, room, format, list), WRITE(to, r < 0 ? 0 : SPACE((size_t)r, n)))
RB_MAKES_TEXT(sprintf, (char *to, const char *format, ...), vsprintf, (to, format, list), WRITE(to, r + 1))
RB_MAKES_TEXT(__sprintf_chk, (char *to, int flag, size_t room, const char *format, ...), __vsprintf_chk,
              (to, flag, room, format, list), WRITE(to, r + 1))
RB_MAKES_TEXT(asprintf, (char **to, const char *format, ...), vasprintf, (to, format, list),
              (WRITE(to, r < 0 ? 0 : sizeof(*to)), WRITE(r < 0 ? NULL : *to, r + 1)))
RB_MAKES_TEXT(__asprintf_chk, (char **to, int flag, const char *format, ...), __vasprintf_chk,
              (to, flag, format, list),
              (WRITE(to, r < 0 ? 0 : sizeof(*to)), WRITE(r < 0 ? NULL : *to, r + 1)))

// ---- the rows ------------------------------------------------------------------------------------------

#define RB_TOUCHES(ret, name, params, args, touches) \
    RB_WATCHED(ret, name, params, args)              \
    {                                                \
        touches;                                     \
        return RB_REAL(name) args;                   \
    }
#define RB_TOUCHED(ret, name, params, args, touches) \
    RB_WATCHED(ret, name, params, args)              \
    {                                                \
        ret r = RB_REAL(name) args;                  \
        touches;                                     \
        return r;                                    \
    }
#define RB_ODD(ret, name, params)
#include "run/intercept/memory.def"
#undef RB_TOUCHES
#undef RB_TOUCHED
#undef RB_ODD
#else
#define REAL_OR(name, simple) name
#endif

// ---- hooks: clang 19 calls these, from instrumented code alone -----------------------------------------

RB_EXPORT void *__tsan_memcpy(void *to, const void *from, size_t n);
RB_EXPORT void *__tsan_memcpy(void *to, const void *from, size_t n)
{
    if (!rb_idle()) {
        rb_access_odd(from, n, RB_HOW_READ, RB_PC);
        rb_access_odd(to, n, RB_HOW_WRITE, RB_PC);
    }
    return REAL_OR(memcpy, simple_copy)(to, from, n);
}

RB_EXPORT void *__tsan_memmove(void *to, const void *from, size_t n);
RB_EXPORT void *__tsan_memmove(void *to, const void *from, size_t n)
{
    if (!rb_idle()) {
        rb_access_odd(from, n, RB_HOW_READ, RB_PC);
        rb_access_odd(to, n, RB_HOW_WRITE, RB_PC);
    }
    return REAL_OR(memmove, simple_move)(to, from, n);
}

RB_EXPORT void *__tsan_memset(void *to, int c, size_t n);
RB_EXPORT void *__tsan_memset(void *to, int c, size_t n)
{
    if (!rb_idle())
        rb_access_odd(to, n, RB_HOW_WRITE, RB_PC);
    return REAL_OR(memset, simple_set)(to, c, n);
}
