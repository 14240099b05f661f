// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// System calls that do not pass a function of libc: those that a program announces by the sanitizers'
// hooks, and those that it makes by `syscall` (tsan_syscalls.def). Each is treated as its function of libc
// is: an order, a descriptor that comes or goes, memory that is read or written.
//
// Arguments are words. The memory they point to counts as read before the call, and as written after a call
// that succeeded. A hook announces a failed call by a negative result, as the kernel or as libc gives it.
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "run/core/upcalls.h"
#include "run/intercept/callers.h"
#include "run/intercept/descriptors.h"
#include "run/intercept/heap.h"
#include "run/intercept/signals/signals.h"
#include "run/sync/sync.h"

#define MOST_BYTES 0x7ffff000 // the most that the kernel moves at once

// ---- verbs of the rows ---------------------------------------------------------------------------------

// Runs `does` inside the guard, for the thread `me`.
#define INSIDE(does)                     \
    do {                                 \
        const int saved = errno;         \
        struct rb_self *me = rb_enter(); \
        if (me) {                        \
            does;                        \
            rb_leave(me);                \
        }                                \
        errno = saved;                   \
    } while (0)

static void signal_number(int number)
{
    INSIDE(rb_on_release(me, rb_signal_object(number)));
}

static void take_signal(int number)
{
    INSIDE(rb_signal_came(me, number));
}

static void wait_for_child(void)
{
    INSIDE(rb_signal_came(me, SIGCHLD));
}

static void give_memory(long address, long size)
{
    INSIDE(rb_memory_goes(me, (uintptr_t)address, (size_t)size));
}

static void get_memory(long address, long size)
{
    if (address < 0 && address >= -4096)
        return;
    INSIDE(rb_memory_new(me, (uintptr_t)address, (size_t)size));
}

static void carry_bytes(int from, int to)
{
    rb_fd_link(rb_fd_object(from), rb_fd_object(to));
    rb_fd_release(rb_fd_object(to));
}

static bool is_out_of_room(long r)
{
    return r == -EAGAIN || (r == -1 && errno == EAGAIN);
}

static void end_sending(int fd, long r)
{
    if (r >= 0)
        rb_fd_had_room(rb_fd_object(fd));
    else if (is_out_of_room(r))
        rb_fd_is_tight(rb_fd_object(fd));
}

static void end_reading(int fd, long r, long to)
{
    const uint32_t object = rb_fd_object(fd);

    if (r < 0)
        return;
    rb_fd_acquire_end(object);
    if (RB_UNLIKELY(object == RB_FD_SIGNALS) && to)
        rb_fd_read_signals((const void *)to, (size_t)r);
}

static void end_polling(const struct pollfd *of, unsigned long n, long r, uintptr_t pc)
{
    for (unsigned long i = 0; r >= 0 && of && i < n; i++) {
        if (of[i].revents & POLLOUT)
            rb_fd_is_tight(rb_fd_object(of[i].fd));
        if (of[i].revents)
            rb_fd_acquire_end(rb_fd_object(of[i].fd));
        RB_TOUCH_AT(RB_HOW_WRITE, &of[i].revents, sizeof(of[i].revents), pc);
    }
}

static bool is_copy(long what)
{
    return what == F_DUPFD || what == F_DUPFD_CLOEXEC;
}

// Locks, flags and room of a descriptor share one object: a setting of one thread is visible to another.
static void begin_control(int fd, long what)
{
    if (is_copy(what))
        return;
    if (what == F_SETPIPE_SZ)
        rb_fd_is_tight(rb_fd_object(fd));
    rb_fd_release(rb_fd_object(fd));
    rb_fd_release(RB_FD_SETTINGS);
}

static void end_control(int fd, long what, long r)
{
    if (is_copy(what)) {
        rb_fd_new_as((int)r, rb_fd_object(fd));
    } else if (r >= 0) {
        rb_fd_acquire_end(rb_fd_object(fd));
        rb_fd_acquire(RB_FD_SETTINGS);
    }
}

#define NOTHING            ((void)0)
#define SAYING(fd)         rb_fd_release(rb_fd_object((int)(fd)))
#define SAID(fd)           end_sending((int)(fd), r)
#define ASKING(fd)         rb_fd_takes(rb_fd_object((int)(fd)))
#define HEARD(fd)          (r >= 0 ? rb_fd_acquire_end(rb_fd_object((int)(fd))) : NOTHING)
#define CARRYING(from, to) carry_bytes((int)(from), (int)(to))
#define NAMES_CHANGE       rb_fd_release(RB_FD_NAMES)
#define NAMES_SEEN         rb_fd_acquire(RB_FD_NAMES)
#define MADE               rb_fd_new((int)r)
#define MADE_OWN           rb_fd_new_own((int)r, -1)
#define OPENED             (rb_fd_opened((int)r), NAMES_SEEN)
#define CLOSING(fd) \
    (RB_TOUCH_AT(RB_HOW_WRITE, rb_fd_word((int)(fd)), rb_fd_close((int)(fd)), pc), rb_fd_closing((int)(fd)))
#define MADE_PAIR(at, one, two)              \
    do {                                     \
        const int *pair = (const int *)(at); \
        if (r == 0) {                        \
            one;                             \
            two;                             \
            FILLED(at, 2 * sizeof(int));     \
        }                                    \
    } while (0)

// Memory at an address; a size below 0 is none.
#define GIVEN(at, n)                                   \
    RB_TOUCH_AT(RB_HOW_READ, (at),                     \
                !(at) || (long)(n) <= 0  ? 0           \
                : (long)(n) < MOST_BYTES ? (long)(n)   \
                                         : MOST_BYTES, \
                pc)
#define FILLED(at, n) RB_TOUCH_AT(RB_HOW_WRITE, (at), !(at) || r < 0 || (long)(n) <= 0 ? 0 : (long)(n), pc)
#define GIVEN_PIECES(at, n)                                                              \
    ((at) && (n) > 0 && (n) <= 1024                                                      \
         ? rb_touch_pieces((const void *)(at), (size_t)(n), MOST_BYTES, RB_HOW_READ, pc) \
         : NOTHING)
#define FILLED_PIECES(at, n) \
    (r > 0 ? rb_touch_pieces((const void *)(at), (size_t)(n), (size_t)r, RB_HOW_WRITE, pc) : NOTHING)
#define GIVEN_MESSAGE(at)     rb_fd_sends_message((const void *)(at), pc)
#define FILLED_MESSAGE(at)    (r >= 0 ? rb_fd_got_message((const void *)(at), r, pc) : NOTHING)
#define GIVEN_MESSAGES(at, n) rb_fd_sends_messages((const void *)(at), (unsigned)(n), pc)
#define FILLED_MESSAGES(at)   (r > 0 ? rb_fd_got_messages((const void *)(at), (unsigned)r, pc) : NOTHING)
#define FILLED_STATE(at)      FILLED(at, sizeof(struct stat))
#define SIGNALS_TOLD(at)      ((at) ? rb_fd_tells_of((const void *)(at)) : NOTHING)

// ---- the rows ------------------------------------------------------------------------------------------

#define PARAMETERS uintptr_t pc, long a, long b, long c, long d
#define UNUSED     ((void)pc, (void)a, (void)b, (void)c, (void)d)
#define RB_SYSCALL(name, before, after)           \
    RB_INLINE void begin_##name(PARAMETERS)       \
    {                                             \
        UNUSED;                                   \
        before;                                   \
    }                                             \
    RB_INLINE void end_##name(long r, PARAMETERS) \
    {                                             \
        (void)r, UNUSED;                          \
        after;                                    \
    }
#define RB_SYSCALL_TOLD RB_SYSCALL
#define RB_SYSCALL_MADE RB_SYSCALL
#define RB_SYSCALL_TAKEN(name)
#include "run/hooks/compat/tsan_syscalls.def"
#undef RB_SYSCALL
#undef RB_SYSCALL_TOLD
#undef RB_SYSCALL_MADE
#undef RB_SYSCALL_TAKEN

// ---- the hooks -----------------------------------------------------------------------------------------

// A call with fewer arguments ignores the others.
#define RB_SYSCALL(name, before, after)                                                        \
    RB_WEAK void __sanitizer_syscall_pre_impl_##name(long a, long b, long c, long d);          \
    RB_WEAK void __sanitizer_syscall_pre_impl_##name(long a, long b, long c, long d)           \
    {                                                                                          \
        if (rb_process.on)                                                                     \
            begin_##name(RB_PC, a, b, c, d);                                                   \
    }                                                                                          \
    RB_WEAK void __sanitizer_syscall_post_impl_##name(long r, long a, long b, long c, long d); \
    RB_WEAK void __sanitizer_syscall_post_impl_##name(long r, long a, long b, long c, long d)  \
    {                                                                                          \
        if (rb_process.on)                                                                     \
            end_##name(r, RB_PC, a, b, c, d);                                                  \
    }
#define RB_SYSCALL_TOLD RB_SYSCALL
#define RB_SYSCALL_MADE(name, before, after)
#define RB_SYSCALL_TAKEN(name)                               \
    RB_WEAK void __sanitizer_syscall_pre_impl_##name(void);  \
    RB_WEAK void __sanitizer_syscall_pre_impl_##name(void)   \
    {                                                        \
    }                                                        \
    RB_WEAK void __sanitizer_syscall_post_impl_##name(void); \
    RB_WEAK void __sanitizer_syscall_post_impl_##name(void)  \
    {                                                        \
    }
#include "run/hooks/compat/tsan_syscalls.def"
#undef RB_SYSCALL
#undef RB_SYSCALL_TOLD
#undef RB_SYSCALL_MADE
#undef RB_SYSCALL_TAKEN

// ---- by number -----------------------------------------------------------------------------------------

#if defined(RB_TAKES_SYSCALL)
// Calls that have no number of their own on this machine.
#define SYS_recv       (-1 - __COUNTER__)
#define SYS_send       (-1 - __COUNTER__)
#define SYS_sendfile64 (-1 - __COUNTER__)
#if !defined(SYS_memfd_secret)
#define SYS_memfd_secret 447
#endif

// Makes the program's system call and follows it (arch_syscall_*.S leads
// here all calls without a rule of their own).
RB_HIDDEN long rb_call_by_number(long number, long a, long b, long c, long d, long e, long f);
long rb_call_by_number(long number, long a, long b, long c, long d, long e, long f)
{
    long r;

    if (!rb_process.on)
        return syscall(number, a, b, c, d, e, f);
    switch (number) {
#define RB_SYSCALL(name, before, after)            \
    case SYS_##name:                               \
        begin_##name(RB_PC, a, b, c, d);           \
        r = syscall(SYS_##name, a, b, c, d, e, f); \
        end_##name(r, RB_PC, a, b, c, d);          \
        return r;
#define RB_SYSCALL_MADE RB_SYSCALL
#define RB_SYSCALL_TOLD(name, before, after)
#define RB_SYSCALL_TAKEN(name)
#include "run/hooks/compat/tsan_syscalls.def"
    default:
        return syscall(number, a, b, c, d, e, f);
    }
}
#endif
