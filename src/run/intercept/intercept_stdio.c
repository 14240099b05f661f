// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Streams: the rows of stdio.def, functions with variable arguments, and flockfile, which is a mutex.
#define __NO_INLINE__ 1 // libc's header defines some of these inline, and redirects others to another name
#define fscanf        rb_not_fscanf
#define scanf         rb_not_scanf
#define vfscanf       rb_not_vfscanf
#define vscanf        rb_not_vscanf
#define fwscanf       rb_not_fwscanf
#define wscanf        rb_not_wscanf
#define vfwscanf      rb_not_vfwscanf
#define vwscanf       rb_not_vwscanf
#include <stdio.h>
#include <wchar.h>
#undef fscanf
#undef scanf
#undef vfscanf
#undef vscanf
#undef fwscanf
#undef wscanf
#undef vfwscanf
#undef vwscanf
#include <stdarg.h>
#include <string.h>

#include "run/intercept/callers.h"
#include "run/intercept/descriptors.h"
#include "run/intercept/intercept.h"
#include "run/intercept/signals/signals.h"
#include "run/sync/sync.h"

#undef fread_unlocked // also macros
#undef fwrite_unlocked

#if defined(RB_STATIC)
#define LENGTH(s) strlen(s)
#else
#define LENGTH(s) RB_REAL(strlen)(s)
#endif

// Returns the stream's object; RB_FD_NONE: a stream in memory.
static uint32_t object_of(FILE *f)
{
    const int saved = errno;
    const int fd = rb_process.on ? fileno_unlocked(f) : -1;

    errno = saved;
    return rb_fd_object(fd);
}

// ---- the rows ------------------------------------------------------------------------------------------

// The line, its pointer and its size: libc reads the last two, and writes them if it needs more room.
#define LINE_READ (READ(to, sizeof(*to)), READ(n, sizeof(*n)), WRITE(r < 0 ? NULL : *to, r < 0 ? 0 : r + 1))

#define RB_PRINTS(ret, name, params, args, stream, touches) \
    RB_INTERCEPT(ret, name, params)                         \
    {                                                       \
        const uint32_t object = object_of(stream);          \
        touches;                                            \
        rb_fd_release(object);                              \
        ret r = RB_REAL(name) args;                         \
        rb_fd_had_room(object);                             \
        return r;                                           \
    }
#define RB_SCANS(ret, name, params, args, stream, touches) \
    RB_INTERCEPT(ret, name, params)                        \
    {                                                      \
        const uint32_t object = object_of(stream);         \
        rb_fd_takes(object);                               \
        ret r = RB_REAL(name) args;                        \
        rb_fd_acquire_end(object);                         \
        touches;                                           \
        return r;                                          \
    }
#define RB_ODD(ret, name, params)
#include "run/intercept/stdio.def"
#undef RB_PRINTS
#undef RB_SCANS
#undef RB_ODD

// ---- with variable arguments ---------------------------------------------------------------------------

// By way of the partner that takes a list.
#define RB_PRINTS_LIST(name, params, object, partner, args) \
    RB_INTERCEPT(int, name, params)                         \
    {                                                       \
        const uint32_t sink = object;                       \
        va_list list;                                       \
        rb_fd_release(sink);                                \
        va_start(list, format);                             \
        const int r = RB_REAL(partner) args;                \
        va_end(list);                                       \
        rb_fd_had_room(sink);                               \
        return r;                                           \
    }
#define RB_SCANS_LIST(name, params, stream, partner, args) \
    RB_INTERCEPT(int, name, params)                        \
    {                                                      \
        const uint32_t object = object_of(stream);         \
        va_list list;                                      \
        rb_fd_takes(object);                               \
        va_start(list, format);                            \
        const int r = RB_REAL(partner) args;               \
        va_end(list);                                      \
        rb_fd_acquire_end(object);                         \
        return r;                                          \
    }
RB_PRINTS_LIST(fprintf, (FILE * f, const char *format, ...), object_of(f), vfprintf, (f, format, list))
RB_PRINTS_LIST(__fprintf_chk, (FILE * f, int flag, const char *format, ...), object_of(f), __vfprintf_chk,
               (f, flag, format, list))
RB_PRINTS_LIST(printf, (const char *format, ...), object_of(stdout), vprintf, (format, list))
RB_PRINTS_LIST(__printf_chk, (int flag, const char *format, ...), object_of(stdout), __vprintf_chk,
               (flag, format, list))
RB_PRINTS_LIST(dprintf, (int fd, const char *format, ...), rb_fd_object(fd), vdprintf, (fd, format, list))
RB_PRINTS_LIST(__dprintf_chk, (int fd, int flag, const char *format, ...), rb_fd_object(fd), __vdprintf_chk,
               (fd, flag, format, list))
RB_PRINTS_LIST(fwprintf, (FILE * f, const wchar_t *format, ...), object_of(f), vfwprintf, (f, format, list))
RB_PRINTS_LIST(__fwprintf_chk, (FILE * f, int flag, const wchar_t *format, ...), object_of(f),
               __vfwprintf_chk, (f, flag, format, list))
RB_PRINTS_LIST(wprintf, (const wchar_t *format, ...), object_of(stdout), vwprintf, (format, list))
RB_PRINTS_LIST(__wprintf_chk, (int flag, const wchar_t *format, ...), object_of(stdout), __vwprintf_chk,
               (flag, format, list))
RB_SCANS_LIST(fscanf, (FILE * f, const char *format, ...), f, vfscanf, (f, format, list))
RB_SCANS_LIST(scanf, (const char *format, ...), stdin, vscanf, (format, list))
RB_SCANS_LIST(__isoc99_fscanf, (FILE * f, const char *format, ...), f, __isoc99_vfscanf, (f, format, list))
RB_SCANS_LIST(__isoc99_scanf, (const char *format, ...), stdin, __isoc99_vscanf, (format, list))

RB_SCANS_LIST(fwscanf, (FILE * f, const wchar_t *format, ...), f, vfwscanf, (f, format, list))
RB_SCANS_LIST(wscanf, (const wchar_t *format, ...), stdin, vwscanf, (format, list))
RB_SCANS_LIST(__isoc99_fwscanf, (FILE * f, const wchar_t *format, ...), f, __isoc99_vfwscanf,
              (f, format, list))
RB_SCANS_LIST(__isoc99_wscanf, (const wchar_t *format, ...), stdin, __isoc99_vwscanf, (format, list))

#define RB_PRINTS_WITH_LIST(name, params, args) \
    RB_INTERCEPT(int, name, params)             \
    {                                           \
        const uint32_t sink = rb_fd_object(fd); \
        rb_fd_release(sink);                    \
        const int r = RB_REAL(name) args;       \
        rb_fd_had_room(sink);                   \
        return r;                               \
    }
RB_PRINTS_WITH_LIST(vdprintf, (int fd, const char *format, va_list list), (fd, format, list))
RB_PRINTS_WITH_LIST(__vdprintf_chk, (int fd, int flag, const char *format, va_list list),
                    (fd, flag, format, list))

RB_INTERCEPT(void, perror, (const char *s))
{
    rb_fd_release(object_of(stderr));
    RB_REAL(perror)(s);
}

static void begin_flush(FILE *f)
{
    if (f)
        rb_fd_release(object_of(f));
    else
        rb_fd_release_all();
}

RB_INTERCEPT(int, fflush, (FILE * f))
{
    begin_flush(f);
    return RB_REAL(fflush)(f);
}

// Closes no stream, and writes the data of all.
RB_INTERCEPT(int, fcloseall, (void))
{
    begin_flush(NULL);
    return RB_REAL(fcloseall)();
}

RB_INTERCEPT(void, rewind, (FILE * f))
{
    rb_fd_release(object_of(f));
    RB_REAL(rewind)(f);
}

RB_INTERCEPT(int, fflush_unlocked, (FILE * f))
{
    begin_flush(f);
    return RB_REAL(fflush_unlocked)(f);
}

// ---- coming and going ----------------------------------------------------------------------------------

static void begin_open(const char *mode)
{
    if (rb_process.on && mode && mode[0] != 'r')
        rb_fd_release(RB_FD_NAMES);
}

static FILE *end_open(FILE *f)
{
    if (rb_process.on) {
        if (f)
            rb_fd_opened(fileno_unlocked(f));
        rb_fd_acquire(RB_FD_NAMES);
    }
    return f;
}

// Also called by programs that have an fopen of their own and mean this one.
RB_EXPORT FILE *__interceptor_fopen(const char *path, const char *mode);
RB_EXPORT FILE *__interceptor_fopen(const char *path, const char *mode)
{
    begin_open(mode);
    return end_open(RB_REAL(fopen)(path, mode));
}

RB_INTERCEPT(FILE *, fopen, (const char *path, const char *mode))
{
    return __interceptor_fopen(path, mode);
}

RB_INTERCEPT(FILE *, fopen64, (const char *path, const char *mode))
{
    begin_open(mode);
    return end_open(RB_REAL(fopen64)(path, mode));
}

static void begin_close(FILE *f)
{
    const int saved = errno;

    if (rb_process.on)
        rb_fd_closing(fileno_unlocked(f));
    errno = saved;
}

RB_INTERCEPT(FILE *, freopen, (const char *path, const char *mode, FILE *f))
{
    begin_close(f);
    begin_open(mode);
    return end_open(RB_REAL(freopen)(path, mode, f));
}

RB_INTERCEPT(FILE *, freopen64, (const char *path, const char *mode, FILE *f))
{
    begin_close(f);
    begin_open(mode);
    return end_open(RB_REAL(freopen64)(path, mode, f));
}

RB_INTERCEPT(FILE *, tmpfile, (void))
{
    return end_open(RB_REAL(tmpfile)());
}

RB_INTERCEPT(FILE *, tmpfile64, (void))
{
    return end_open(RB_REAL(tmpfile64)());
}

RB_INTERCEPT(FILE *, setmntent, (const char *path, const char *mode))
{
    begin_open(mode);
    return end_open(RB_REAL(setmntent)(path, mode));
}

RB_INTERCEPT(int, endmntent, (FILE * f))
{
    if (f)
        begin_close(f);
    return RB_REAL(endmntent)(f);
}

RB_INTERCEPT(int, fclose, (FILE * f))
{
    begin_close(f);
    return RB_REAL(fclose)(f);
}

RB_INTERCEPT(FILE *, popen, (const char *command, const char *mode))
{
    rb_before_child();
    FILE *f = RB_REAL(popen)(command, mode);
    if (f && rb_process.on) {
        rb_fd_new(fileno_unlocked(f));
        rb_fd_link(object_of(f), RB_FD_ALL);
    }
    return f;
}

RB_INTERCEPT(int, pclose, (FILE * f))
{
    begin_close(f);
    const int r = RB_REAL(pclose)(f);
    rb_after_child();
    return r;
}

// ---- locks ---------------------------------------------------------------------------------------------

static void lock_stream(FILE *f)
{
    struct rb_self *me = rb_enter();

    if (me) {
        rb_on_lock(me, (uintptr_t)f);
        rb_leave(me);
    }
}

RB_INTERCEPT(void, flockfile, (FILE * f))
{
    RB_REAL(flockfile)(f);
    lock_stream(f);
}

RB_INTERCEPT(int, ftrylockfile, (FILE * f))
{
    const int r = RB_REAL(ftrylockfile)(f);

    if (r == 0)
        lock_stream(f);
    return r;
}

RB_INTERCEPT(void, funlockfile, (FILE * f))
{
    struct rb_self *me = rb_enter();

    if (me) {
        rb_on_unlock(me, (uintptr_t)f);
        rb_leave(me);
    }
    RB_REAL(funlockfile)(f);
}
