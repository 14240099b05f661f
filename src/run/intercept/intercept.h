// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Interceptors: functions of libc that the runtime replaces. All are rows of intercept.def. Regular ones
// are generated from their row (intercept.c); the others are written by hand in the file of their subject.
//
// In a dynamically linked program an interceptor has the function's own name. It is weak, so that a
// definition of the program wins, and finds the real function behind it in the order of loading. A static
// program has no such order: there the linker's --wrap exchanges the names (RB_STATIC).
#ifndef RB_RUN_INTERCEPT_INTERCEPT_H
#define RB_RUN_INTERCEPT_INTERCEPT_H

#include <aio.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <link.h>
#include <locale.h>
#include <mqueue.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>
#include <wchar.h>

#include "run/core/rt.h"

#if defined(RB_STATIC)
#define RB_INTERCEPT(ret, name, params) \
    RB_EXPORT ret __wrap_##name params; \
    RB_EXPORT ret __wrap_##name params
#define RB_BEFORE(ret, name, params, args, before)     extern ret __real_##name params;
#define RB_AFTER(ret, name, params, args, done, after) extern ret __real_##name params;
#define RB_ODD(ret, name, params)                      extern ret __real_##name params;
#define RB_LATE(ret, name, params)                     extern ret __real_##name params __attribute__((weak));
#include "run/intercept/intercept.def"
#undef RB_BEFORE
#undef RB_AFTER
#undef RB_ODD
#undef RB_LATE
#define RB_REAL(name)     __real_##name
#define RB_FOUND(name)    __real_##name
#define RB_INTERCEPT_LATE RB_INTERCEPT
#define RB_REAL_LATE      RB_REAL
#else
#define RB_INTERCEPT(ret, name, params) \
    RB_WEAK ret name params;            \
    RB_WEAK ret name params
struct rb_real {
#define RB_BEFORE(ret, name, params, args, before)     ret(*name) params;
#define RB_AFTER(ret, name, params, args, done, after) ret(*name) params;
#define RB_ODD(ret, name, params)                      ret(*name) params;
#include "run/intercept/intercept.def"
#undef RB_BEFORE
#undef RB_AFTER
#undef RB_ODD
};
extern RB_HIDDEN struct rb_real rb_real;
RB_HIDDEN void *rb_real_find(void **slot, const char *name);
RB_INLINE void *rb_real_get(void **slot, const char *name)
{
    void *found = rb_load_relaxed(slot);

    return RB_LIKELY(found != NULL) ? found : rb_real_find(slot, name);
}
#define RB_REAL(name)  ((__typeof__(rb_real.name))rb_real_get((void **)(void *)&rb_real.name, #name))
#define RB_FOUND(name) rb_real.name // once the runtime has started
// Functions of libstdc++, which may be part of the program
// (-static-libstdc++). Then the linker's --wrap is needed.
#define RB_INTERCEPT_LATE(ret, name, params)                          \
    extern ret __real_##name params __attribute__((weak));            \
    RB_WEAK ret name params;                                          \
    RB_EXPORT ret __wrap_##name params __attribute__((alias(#name))); \
    RB_WEAK ret name params
#define RB_REAL_LATE(name) (&__real_##name ? &__real_##name : RB_REAL(name))
#endif

RB_HIDDEN void rb_real_init(void);
// Returns true if libc comes after the runtime in the order of
// loading, so that calls meet the interceptors.
RB_HIDDEN bool rb_real_is_behind(void);

// Runs the work of an interceptor beside the real call: `outside` the guard, then `inside` it for the
// thread `me`. Keeps the program's errno.
#define RB_BESIDE(outside, inside)       \
    do {                                 \
        const int saved = errno;         \
        outside;                         \
        struct rb_self *me = rb_enter(); \
        if (me) {                        \
            inside;                      \
            rb_leave(me);                \
        }                                \
        errno = saved;                   \
    } while (0)

#endif
