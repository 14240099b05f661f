// Hooks around system calls that a program makes without libc (tsan_syscalls.def). Of the arguments only
// those that say which descriptor are looked at; what a call reads or writes is not checked.
#include "rt/descriptors.h"
#include "rt/init.h"
#include "rt/signals.h"
#include "rt/sync.h"

static void signalling(int number)
{
    struct rb_self *me = rb_enter();

    if (!me)
        return;
    rb_on_release(me, rb_signal_object(number));
    rb_leave(me);
}

static void carrying(int from, int to)
{
    rb_fd_link(rb_fd_object(from), rb_fd_object(to));
    rb_fd_release(rb_fd_object(to));
}

#define NOTHING            ((void)0)
#define SAYING(fd)         rb_fd_release(rb_fd_object((int)(fd)))
#define HEARD(fd)          (r >= 0 ? rb_fd_acquire_end(rb_fd_object((int)(fd))) : NOTHING)
#define CARRYING(from, to) carrying((int)(from), (int)(to))
#define MADE_PAIR(at, one, two)              \
    do {                                     \
        const int *pair = (const int *)(at); \
        if (r == 0) {                        \
            one;                             \
            two;                             \
        }                                    \
    } while (0)

// Arguments are words, and a call with fewer of them leaves the others alone.
#define RB_SYSCALL(name, before, after)                                                        \
    RB_WEAK void __sanitizer_syscall_pre_impl_##name(long a, long b, long c, long d);          \
    RB_WEAK void __sanitizer_syscall_pre_impl_##name(long a, long b, long c, long d)           \
    {                                                                                          \
        (void)a, (void)b, (void)c, (void)d;                                                    \
        if (rb_process.on)                                                                     \
            before;                                                                            \
    }                                                                                          \
    RB_WEAK void __sanitizer_syscall_post_impl_##name(long r, long a, long b, long c, long d); \
    RB_WEAK void __sanitizer_syscall_post_impl_##name(long r, long a, long b, long c, long d)  \
    {                                                                                          \
        (void)r, (void)a, (void)b, (void)c, (void)d;                                           \
        if (rb_process.on)                                                                     \
            after;                                                                             \
    }
#define RB_SYSCALL_TAKEN(name)                               \
    RB_WEAK void __sanitizer_syscall_pre_impl_##name(void);  \
    RB_WEAK void __sanitizer_syscall_pre_impl_##name(void)   \
    {                                                        \
    }                                                        \
    RB_WEAK void __sanitizer_syscall_post_impl_##name(void); \
    RB_WEAK void __sanitizer_syscall_post_impl_##name(void)  \
    {                                                        \
    }
#include "rt/tsan_syscalls.def"
