// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The runtime's own calls of functions that it intercepts, including calls that compilers make of an
// assignment or a loop. They are no accesses of the program: they must not be checked, counted, or use up
// the sampler's allowance. When the runtime's objects are linked into one (CMakeLists.txt), the linker's
// --wrap leads such calls from all other files here. symbols.sh refuses a call that has no row.
//
// In static programs the memory functions are not intercepted, and calls of the others pass through the
// guard.
#if !defined(RB_STATIC)
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "run/intercept/intercept.h"

#define RB_OWN(ret, name, params)       \
    RB_HIDDEN ret __wrap_##name params; \
    RB_HIDDEN ret __wrap_##name params
#define RB_OWN_ROW(ret, name, params, args) \
    RB_OWN(ret, name, params)               \
    {                                       \
        return RB_REAL(name) args;          \
    }

// Needed before the real functions can be looked up, and by the look-up itself.
RB_OWN(void *, memcpy, (void *to, const void *from, size_t n))
{
    void *at = to;

    if (RB_LIKELY(rb_real.memcpy != NULL))
        return rb_real.memcpy(to, from, n);
    __asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(n)::"memory");
    return to;
}

RB_OWN(void *, memmove, (void *to, const void *from, size_t n))
{
    char *t = to;
    const char *f = from;

    if ((uintptr_t)to - (uintptr_t)from >= n)
        return __wrap_memcpy(to, from, n);
    while (n--)
        t[n] = f[n];
    return to;
}

RB_OWN(void *, memset, (void *to, int c, size_t n))
{
    void *at = to;

    if (RB_LIKELY(rb_real.memset != NULL))
        return rb_real.memset(to, c, n);
    __asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(c) : "memory");
    return to;
}

RB_OWN(int, memcmp, (const void *a, const void *b, size_t n))
{
    const unsigned char *p = a, *q = b;

    for (; n && *p == *q; n--)
        p++, q++;
    return n ? *p - *q : 0;
}

RB_OWN(size_t, strlen, (const char *s))
{
    const char *end = s;

    while (*end)
        end++;
    return (size_t)(end - s);
}

RB_OWN(int, strncmp, (const char *a, const char *b, size_t n))
{
    for (; n && *a && *a == *b; n--)
        a++, b++;
    return n ? (unsigned char)*a - (unsigned char)*b : 0;
}

RB_OWN(int, strcmp, (const char *a, const char *b))
{
    return __wrap_strncmp(a, b, SIZE_MAX);
}

// Called by threads that wait for a lock: they spin where the kernel may not be called.
RB_OWN(int, sched_yield, (void))
{
    return rb_host.sandboxed ? 0 : (int)syscall(SYS_sched_yield);
}

RB_OWN_ROW(char *, strcpy, (char *to, const char *from), (to, from))
RB_OWN_ROW(char *, strchr, (const char *s, int c), (s, c))
RB_OWN_ROW(char *, strrchr, (const char *s, int c), (s, c))
RB_OWN_ROW(char *, strstr, (const char *s, const char *part), (s, part))
RB_OWN_ROW(size_t, strcspn, (const char *s, const char *set), (s, set))
RB_OWN_ROW(int, vsnprintf, (char *to, size_t n, const char *format, va_list list), (to, n, format, list))
RB_OWN_ROW(int, fflush, (FILE * stream), (stream))
RB_OWN_ROW(ssize_t, readlink, (const char *path, char *to, size_t n), (path, to, n))
RB_OWN_ROW(int, uname, (struct utsname * to), (to))
RB_OWN_ROW(int, clock_gettime, (clockid_t clock, struct timespec *to), (clock, to))
RB_OWN_ROW(void *, mmap, (void *a, size_t size, int prot, int flags, int fd, off_t at),
           (a, size, prot, flags, fd, at))
RB_OWN_ROW(void *, dlopen, (const char *path, int mode), (path, mode))
RB_OWN_ROW(int, pthread_key_create, (pthread_key_t * key, void (*ends)(void *)), (key, ends))
RB_OWN_ROW(int, dl_iterate_phdr, (int (*function)(struct dl_phdr_info *, size_t, void *), void *data),
           (function, data))
RB_OWN_ROW(int, munmap, (void *a, size_t size), (a, size))

RB_OWN(int, clone, (int (*function)(void *), void *stack, int flags, void *argument, ...))
{
    va_list list;

    va_start(list, argument);
    void *const parent_tid = va_arg(list, void *), *const tls = va_arg(list, void *),
                *const child_tid = va_arg(list, void *);
    va_end(list);
    return RB_REAL(clone)(function, stack, flags, argument, parent_tid, tls, child_tid);
}

RB_OWN(int, snprintf, (char *to, size_t n, const char *format, ...))
{
    va_list list;

    va_start(list, format);
    const int r = RB_REAL(vsnprintf)(to, n, format, list);
    va_end(list);
    return r;
}
#endif
