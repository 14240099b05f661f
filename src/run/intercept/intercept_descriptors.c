// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Descriptors: the rows of descriptors.def, and the functions that need code of their own. Blocking calls
// are made outside the guard, with no lock held. The object of a descriptor is looked up before the call:
// afterwards the descriptor may be closed, and its number may stand for another one.
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

#include "run/intercept/callers.h"
#include "run/intercept/descriptors.h"
#include "run/intercept/intercept.h"
#include "run/intercept/signals/signals.h"

#define MOST_BYTES  0x7ffff000u // the most that the kernel moves at once
#define MOST_PIECES 1024u

// A call that fails, or takes less, has at least been asked to take all of it.
#define TAKEN(n) ((n) < MOST_BYTES ? (n) : MOST_BYTES)
#define READ_PIECES(from, count)                                                                      \
    rb_touch_pieces(from, (from) && (size_t)(count) <= MOST_PIECES ? (size_t)(count) : 0, MOST_BYTES, \
                    RB_HOW_READ, RB_PC)
#define WRITE_PIECES(to, count, r) \
    rb_touch_pieces(to, (size_t)(count), (r) > 0 ? (size_t)(r) : 0, RB_HOW_WRITE, RB_PC)

#define USED(fd, object)  RB_TOUCH(RB_HOW_READ, rb_fd_word(fd), rb_fd_use(fd, object))
#define TAKES(fd, object) (USED(fd, object), rb_fd_takes(object))

#define FINISHES(event) RB_BESIDE((void)0, rb_event_asked(me, event)) // the event announces its end

// ---- messages with descriptors in them -----------------------------------------------------------------

static void for_each_passed(const struct msghdr *m, void (*tell)(int fd))
{
    struct msghdr *of = (struct msghdr *)(uintptr_t)m; // CMSG_NXTHDR requires it so, and changes nothing

    const char *end = (const char *)m->msg_control + m->msg_controllen;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(of); c; c = CMSG_NXTHDR(of, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || c->cmsg_len < CMSG_LEN(0) ||
            c->cmsg_len > (size_t)(end - (const char *)c))
            continue;
        const int *fd = (const int *)(const void *)CMSG_DATA(c);
        for (size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(*fd); n; n--)
            tell(*fd++);
    }
}

void rb_fd_sends_message(const struct msghdr *m, uintptr_t pc)
{
    if (!m)
        return;
    if (m->msg_iov && m->msg_iovlen <= MOST_PIECES)
        rb_touch_pieces(m->msg_iov, m->msg_iovlen, MOST_BYTES, RB_HOW_READ, pc);
    if (m->msg_control)
        for_each_passed(m, rb_fd_passed_on);
}

void rb_fd_sends_messages(const struct mmsghdr *m, unsigned count, uintptr_t pc)
{
    for (unsigned i = 0; m && i < count && i < MOST_PIECES; i++)
        rb_fd_sends_message(&m[i].msg_hdr, pc);
}

// Records the write of the bytes, the sender's address and the control messages.
// `room` is the space given for the address.
static void touch_message(const struct msghdr *m, ssize_t r, socklen_t room, uintptr_t pc)
{
    const struct iovec beside[] = {{m->msg_name, m->msg_namelen < room ? m->msg_namelen : room},
                                   {m->msg_control, m->msg_controllen}};

    if (r < 0)
        return;
    rb_touch_pieces(m->msg_iov, m->msg_iovlen, (size_t)r, RB_HOW_WRITE, pc);
    for (unsigned i = 0; i < RB_LENGTH(beside); i++)
        if (beside[i].iov_base)
            rb_touch_pieces(&beside[i], 1, beside[i].iov_len, RB_HOW_WRITE, pc);
    if (m->msg_control)
        for_each_passed(m, rb_fd_new);
}

// The space given for the address is not known: the address is left out.
void rb_fd_got_message(const struct msghdr *m, ssize_t r, uintptr_t pc)
{
    touch_message(m, r, 0, pc);
}

void rb_fd_got_messages(const struct mmsghdr *m, unsigned count, uintptr_t pc)
{
    for (unsigned i = 0; i < count; i++)
        touch_message(&m[i].msg_hdr, m[i].msg_len, 0, pc);
}

// Follows the result of a call that sends: there was room, there was none, or there is no reader any more.
static inline void end_send(uint32_t object, ssize_t r)
{
    if (RB_LIKELY(r >= 0))
        rb_fd_had_room(object);
    else if (errno == EAGAIN)
        rb_fd_is_tight(object);
    else if (rb_fd_told())
        rb_fd_acquire_end(object);
}

// Follows the result of a call that receives: data, or the end of it.
static void end_receive_slow(uint32_t object, bool got, ssize_t r)
{
    if (r > 0 && got)
        rb_fd_acquire(object);
    else if (r < 0 ? rb_fd_told() : got)
        rb_fd_acquire_end(object);
}

static inline void end_receive(uint32_t object, bool got, ssize_t r)
{
    if (!rb_idle())
        end_receive_slow(object, got, r);
}

#define FILE_SYSTEM (RB_LIKELY(rb_process.on) ? RB_FD_NAMES : RB_FD_NONE)

// Opening may make or empty a file, and it sees files made by other threads.
static void begin_open(int flags)
{
    if (flags & (O_CREAT | O_TRUNC))
        rb_fd_release(FILE_SYSTEM);
}

static int end_open(int r)
{
    rb_fd_opened(r);
    rb_fd_acquire(FILE_SYSTEM);
    return r;
}

// ---- the rows ------------------------------------------------------------------------------------------

#define RB_SENDS(ret, name, params, args, fd, touches) \
    RB_INTERCEPT(ret, name, params)                    \
    {                                                  \
        const uint32_t object = rb_fd_object(fd);      \
        USED(fd, object);                              \
        touches;                                       \
        rb_fd_release(object);                         \
        ret r = RB_REAL(name) args;                    \
        end_send(object, r);                           \
        return r;                                      \
    }
#define RB_RECEIVES(ret, name, params, args, fd, got, touches) \
    RB_INTERCEPT(ret, name, params)                            \
    {                                                          \
        const uint32_t object = rb_fd_object(fd);              \
        TAKES(fd, object);                                     \
        ret r = RB_REAL(name) args;                            \
        end_receive(object, (got), r);                         \
        touches;                                               \
        return r;                                              \
    }
#define RB_CHANGES(ret, name, params, args, fd)   \
    RB_INTERCEPT(ret, name, params)               \
    {                                             \
        const uint32_t object = rb_fd_object(fd); \
        USED(fd, object);                         \
        rb_fd_release(object);                    \
        ret r = RB_REAL(name) args;               \
        rb_fd_acquire(object);                    \
        return r;                                 \
    }
#define RB_OPENS(name, params, args, flags)  \
    RB_INTERCEPT(int, name, params)          \
    {                                        \
        begin_open(flags);                   \
        return end_open(RB_REAL(name) args); \
    }
#define RB_MAKES(name, params, args, made) \
    RB_INTERCEPT(int, name, params)        \
    {                                      \
        const int r = RB_REAL(name) args;  \
        if (r >= 0)                        \
            made;                          \
        return r;                          \
    }
#define RB_NAMES_CHANGE(ret, name, params, args) \
    RB_INTERCEPT(ret, name, params)              \
    {                                            \
        rb_fd_release(FILE_SYSTEM);              \
        ret r = RB_REAL(name) args;              \
        rb_fd_acquire(FILE_SYSTEM);              \
        return r;                                \
    }
#define RB_NAMES_READ(ret, name, params, args, touches) \
    RB_INTERCEPT(ret, name, params)                     \
    {                                                   \
        ret r = RB_REAL(name) args;                     \
        rb_fd_acquire(FILE_SYSTEM);                     \
        touches;                                        \
        return r;                                       \
    }
#define SEEN(device, inode) rb_fd_acquire(r == 0 && rb_process.on ? rb_fd_inode(device, inode) : RB_FD_NONE)
#define RB_ODD(ret, name, params)
#include "run/intercept/descriptors.def"
#undef RB_SENDS
#undef RB_RECEIVES
#undef RB_CHANGES
#undef RB_OPENS
#undef RB_MAKES
#undef RB_NAMES_CHANGE
#undef RB_NAMES_READ
#undef RB_ODD

// ---- reading -------------------------------------------------------------------------------------------

RB_INTERCEPT(ssize_t, read, (int fd, void *to, size_t n))
{
    const uint32_t object = rb_fd_object(fd);

    TAKES(fd, object);
    const ssize_t r = RB_REAL(read)(fd, to, n);
    end_receive(object, r >= 0, r);
    if (RB_UNLIKELY(object == RB_FD_SIGNALS) && r > 0)
        rb_fd_read_signals(to, (size_t)r);
    WRITE(to, rb_moved(r, n));
    return r;
}

// From one descriptor to another: data that comes in meanwhile may be out before the call is over.
#define RB_CARRIES(name, params, args)                                       \
    RB_INTERCEPT(ssize_t, name, params)                                      \
    {                                                                        \
        const uint32_t source = rb_fd_object(from), sink = rb_fd_object(to); \
        rb_fd_link(source, sink);                                            \
        rb_fd_release(sink);                                                 \
        const ssize_t r = RB_REAL(name) args;                                \
        end_receive(source, r >= 0, r);                                      \
        return r;                                                            \
    }
RB_CARRIES(sendfile, (int to, int from, off_t *at, size_t n), (to, from, at, n))
RB_CARRIES(sendfile64, (int to, int from, off64_t *at, size_t n), (to, from, at, n))
RB_CARRIES(splice, (int from, off64_t *from_at, int to, off64_t *to_at, size_t n, unsigned flags),
           (from, from_at, to, to_at, n, flags))
RB_CARRIES(tee, (int from, int to, size_t n, unsigned flags), (from, to, n, flags))
RB_CARRIES(copy_file_range, (int from, off64_t *from_at, int to, off64_t *to_at, size_t n, unsigned flags),
           (from, from_at, to, to_at, n, flags))

// ---- sockets -------------------------------------------------------------------------------------------

// bind acts as a lock: one of the threads that want an address gets it, and
// others when it is closed. It may be a name.
RB_INTERCEPT(int, bind, (int fd, __CONST_SOCKADDR_ARG a, socklen_t size))
{
    const uint32_t object = rb_fd_object(fd);

    USED(fd, object);
    rb_fd_release(object);
    rb_fd_release(FILE_SYSTEM);
    const int r = RB_REAL(bind)(fd, a, size);
    rb_fd_acquire_end(object);
    rb_fd_acquire(FILE_SYSTEM);
    return r;
}

RB_INTERCEPT(int, connect, (int fd, __CONST_SOCKADDR_ARG a, socklen_t size))
{
    const uint32_t object = rb_fd_object(fd);

    USED(fd, object);
    rb_fd_release(object);
    const int r = RB_REAL(connect)(fd, a, size);
    if (r == 0 || rb_fd_told())
        rb_fd_acquire_end(object);
    return r;
}

RB_INTERCEPT(int, shutdown, (int fd, int how))
{
    const uint32_t object = rb_fd_object(fd);

    USED(fd, object);
    rb_fd_release_end(object);
    return RB_REAL(shutdown)(fd, how);
}

// Functions that fill in an address or a value, and its length. `room` is the space given for it, read
// before the call. A longer result is cut off, and the length says so.
#define ROOM(to, size) ((to) && (size) ? *(size) : 0)

static void touch_filled(void *to, socklen_t *size, socklen_t room, uintptr_t pc)
{
    if (!to || !size)
        return;
    const size_t n = *size < room ? *size : room;
    const struct iovec pieces[] = {{size, sizeof(*size)}, {to, n}};
    rb_touch_pieces(pieces, 2, sizeof(*size) + n, RB_HOW_WRITE, pc);
}

#define RB_ACCEPTS(name, params, args)                       \
    RB_INTERCEPT(int, name, params)                          \
    {                                                        \
        const uint32_t object = rb_fd_object(fd);            \
        const socklen_t room = ROOM(a.__sockaddr__, size);   \
        USED(fd, object);                                    \
        const int r = RB_REAL(name) args;                    \
        if (r >= 0) {                                        \
            rb_fd_new(r);                                    \
            rb_fd_acquire(object);                           \
            touch_filled(a.__sockaddr__, size, room, RB_PC); \
        }                                                    \
        return r;                                            \
    }
RB_ACCEPTS(accept, (int fd, __SOCKADDR_ARG a, socklen_t *size), (fd, a, size))
RB_ACCEPTS(accept4, (int fd, __SOCKADDR_ARG a, socklen_t *size, int flags), (fd, a, size, flags))

#define SETTINGS (RB_LIKELY(rb_process.on) ? RB_FD_SETTINGS : RB_FD_NONE)

RB_INTERCEPT(int, setsockopt, (int fd, int level, int name, const void *from, socklen_t size))
{
    const uint32_t object = rb_fd_object(fd);

    USED(fd, object);
    if (level == SOL_SOCKET && (name == SO_SNDBUF || name == SO_RCVBUF))
        rb_fd_is_tight(object);
    rb_fd_release(SETTINGS);
    return RB_REAL(setsockopt)(fd, level, name, from, size);
}

// The state of a socket comes after the calls that set it: bind, connect, setsockopt.
#define RB_TELLS(name, params, args, to)          \
    RB_INTERCEPT(int, name, params)               \
    {                                             \
        const uint32_t object = rb_fd_object(fd); \
        const socklen_t room = ROOM(to, size);    \
        USED(fd, object);                         \
        const int r = RB_REAL(name) args;         \
        if (r == 0) {                             \
            rb_fd_acquire(object);                \
            rb_fd_acquire(SETTINGS);              \
            touch_filled(to, size, room, RB_PC);  \
        }                                         \
        return r;                                 \
    }
RB_TELLS(getsockname, (int fd, __SOCKADDR_ARG a, socklen_t *size), (fd, a, size), a.__sockaddr__)
RB_TELLS(getpeername, (int fd, __SOCKADDR_ARG a, socklen_t *size), (fd, a, size), a.__sockaddr__)
RB_TELLS(getsockopt, (int fd, int level, int name, void *to, socklen_t *size), (fd, level, name, to, size),
         to)

#define RB_RECEIVES_FROM(name, params, args)                 \
    RB_INTERCEPT(ssize_t, name, params)                      \
    {                                                        \
        const uint32_t object = rb_fd_object(fd);            \
        const socklen_t room = ROOM(a.__sockaddr__, size);   \
        TAKES(fd, object);                                   \
        const ssize_t r = RB_REAL(name) args;                \
        end_receive(object, r >= 0, r);                      \
        WRITE(to, rb_moved(r, n));                           \
        if (r >= 0)                                          \
            touch_filled(a.__sockaddr__, size, room, RB_PC); \
        return r;                                            \
    }
RB_RECEIVES_FROM(recvfrom, (int fd, void *to, size_t n, int flags, __SOCKADDR_ARG a, socklen_t *size),
                 (fd, to, n, flags, a, size))
RB_RECEIVES_FROM(__recvfrom_chk,
                 (int fd, void *to, size_t n, size_t most, int flags, __SOCKADDR_ARG a, socklen_t *size),
                 (fd, to, n, most, flags, a, size))

RB_INTERCEPT(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags))
{
    const uint32_t object = rb_fd_object(fd);
    const socklen_t room = m && m->msg_name ? m->msg_namelen : 0;

    TAKES(fd, object);
    const ssize_t r = RB_REAL(recvmsg)(fd, m, flags);
    end_receive(object, r >= 0, r);
    if (r >= 0)
        touch_message(m, r, room, RB_PC);
    return r;
}

RB_INTERCEPT(int, recvmmsg, (int fd, struct mmsghdr *m, unsigned count, int flags, struct timespec *t))
{
    const uint32_t object = rb_fd_object(fd);
    socklen_t room[64] = {0}; // addresses of the first messages

    for (unsigned i = 0; m && i < count && i < RB_LENGTH(room); i++)
        room[i] = m[i].msg_hdr.msg_name ? m[i].msg_hdr.msg_namelen : 0;
    TAKES(fd, object);
    const int r = RB_REAL(recvmmsg)(fd, m, count, flags, t);
    end_receive(object, r >= 0, r);
    for (int i = 0; i < r; i++)
        touch_message(&m[i].msg_hdr, m[i].msg_len, i < (int)RB_LENGTH(room) ? room[i] : 0, RB_PC);
    return r;
}

RB_INTERCEPT(int, socketpair, (int domain, int type, int protocol, int pair[2]))
{
    const int r = RB_REAL(socketpair)(domain, type, protocol, pair);

    if (r == 0) {
        rb_fd_new_own(pair[0], pair[1]);
        WRITE(pair, 2 * sizeof(int));
    }
    return r;
}

// ---- events --------------------------------------------------------------------------------------------

RB_INTERCEPT(int, epoll_ctl, (int fd, int what, int of, struct epoll_event *event))
{
    const uint32_t object = rb_fd_object(fd);

    if (what != EPOLL_CTL_DEL) {
        rb_fd_link(rb_fd_object(of), object);
        if (event && event->events & EPOLLOUT)
            rb_fd_is_tight(rb_fd_object(of));
    }
    rb_fd_release(object);
    return RB_REAL(epoll_ctl)(fd, what, of, event);
}

static void end_poll(const struct pollfd *of, nfds_t n, int ready)
{
    uint32_t last = RB_FD_NONE;

    for (nfds_t i = 0; ready > 0 && i < n; i++) {
        if (!of[i].revents)
            continue;
        const uint32_t object = rb_fd_object(of[i].fd);
        if (of[i].revents & POLLOUT)
            rb_fd_is_tight(object);
        if (object != last)
            rb_fd_acquire_end(object);
        last = object;
        ready--;
    }
}

#define RB_POLLS(name, params, args)                      \
    RB_INTERCEPT(int, name, params)                       \
    {                                                     \
        const int r = RB_REAL(name) args;                 \
        end_poll(of, n, r);                               \
        for (nfds_t i = 0; r >= 0 && i < n; i++)          \
            WRITE(&of[i].revents, sizeof(of[i].revents)); \
        return r;                                         \
    }
RB_POLLS(poll, (struct pollfd * of, nfds_t n, int ms), (of, n, ms))
RB_POLLS(__poll_chk, (struct pollfd * of, nfds_t n, int ms, size_t room), (of, n, ms, room))
RB_POLLS(ppoll, (struct pollfd * of, nfds_t n, const struct timespec *t, const sigset_t *set),
         (of, n, t, set))
RB_POLLS(__ppoll_chk,
         (struct pollfd * of, nfds_t n, const struct timespec *t, const sigset_t *set, size_t room),
         (of, n, t, set, room))

// A set may be longer than fd_set: programs with many descriptors allocate their own.
static void end_select(const fd_set *set, int n, bool room)
{
    const unsigned bits = 8 * sizeof(unsigned long);
    const unsigned long *word = (const unsigned long *)(const void *)set;
    uint32_t last = RB_FD_NONE;

    for (int fd = 0; set && fd < n; fd++) {
        if (!(word[(unsigned)fd / bits] >> (unsigned)fd % bits & 1))
            continue;
        const uint32_t object = rb_fd_object(fd);
        if (room)
            rb_fd_is_tight(object);
        if (object != last)
            rb_fd_acquire_end(object);
        last = object;
    }
}

#define RB_SELECTS(name, params, args)    \
    RB_INTERCEPT(int, name, params)       \
    {                                     \
        const int r = RB_REAL(name) args; \
        if (r > 0 && rb_process.on) {     \
            end_select(in, n, false);     \
            end_select(out, n, true);     \
            end_select(odd, n, false);    \
        }                                 \
        return r;                         \
    }
RB_SELECTS(select, (int n, fd_set *in, fd_set *out, fd_set *odd, struct timeval *t), (n, in, out, odd, t))
RB_SELECTS(pselect,
           (int n, fd_set *in, fd_set *out, fd_set *odd, const struct timespec *t, const sigset_t *set),
           (n, in, out, odd, t, set))

// ---- coming and going ----------------------------------------------------------------------------------

RB_INTERCEPT(int, pipe, (int pair[2]))
{
    const int r = RB_REAL(pipe)(pair);

    if (r == 0) {
        rb_fd_new(pair[0]);
        rb_fd_new(pair[1]);
        WRITE(pair, 2 * sizeof(int));
    }
    return r;
}

RB_INTERCEPT(int, pipe2, (int pair[2], int flags))
{
    const int r = RB_REAL(pipe2)(pair, flags);

    if (r == 0) {
        rb_fd_new(pair[0]);
        rb_fd_new(pair[1]);
        WRITE(pair, 2 * sizeof(int));
    }
    return r;
}

RB_INTERCEPT(int, openpty,
             (int *master, int *slave, char *name, const struct termios *t, const struct winsize *w))
{
    const int r = RB_REAL(openpty)(master, slave, name, t, w);

    if (r == 0) {
        rb_fd_new(*master);
        rb_fd_new(*slave);
        WRITE(master, sizeof(*master));
        WRITE(slave, sizeof(*slave));
    }
    return r;
}

// The child's first three descriptors are the terminal, and new to all threads in it.
RB_INTERCEPT(pid_t, forkpty, (int *master, char *name, const struct termios *t, const struct winsize *w))
{
    const pid_t child = RB_REAL(forkpty)(master, name, t, w);

    if (child > 0) {
        rb_fd_new(*master);
        WRITE(master, sizeof(*master));
    }
    return child;
}

RB_INTERCEPT(int, dup2, (int fd, int to))
{
    const uint32_t object = rb_fd_object(fd);

    rb_fd_replacing(to, fd); // it is closed if it was open
    const int r = RB_REAL(dup2)(fd, to);
    if (r >= 0)
        rb_fd_new_as(r, object);
    return r;
}

RB_INTERCEPT(int, dup3, (int fd, int to, int flags))
{
    const uint32_t object = rb_fd_object(fd);

    rb_fd_replacing(to, fd);
    const int r = RB_REAL(dup3)(fd, to, flags);
    if (r >= 0)
        rb_fd_new_as(r, object);
    return r;
}

// The terminal becomes the first three descriptors, and its own is closed if it is not among them.
RB_INTERCEPT(int, login_tty, (int fd))
{
    const uint32_t object = rb_fd_object(fd);

    for (int of = 0; of < 3; of++)
        rb_fd_replacing(of, fd);
    if (fd > 2)
        rb_fd_closing(fd);
    const int r = RB_REAL(login_tty)(fd);
    for (int of = 0; of < 3 && r == 0; of++)
        rb_fd_new_as(of, object);
    return r;
}

static bool is_lock(int what)
{
    return what == F_SETLK || what == F_SETLKW || what == F_OFD_SETLK || what == F_OFD_SETLKW ||
           what == F_GETLK || what == F_OFD_GETLK;
}

static bool is_question(int what)
{
    return what == F_GETLK || what == F_OFD_GETLK || what == F_GETFD || what == F_GETFL || what == F_GETOWN ||
           what == F_GETOWN_EX || what == F_GETSIG || what == F_GETLEASE || what == F_GETPIPE_SZ ||
           what == F_GET_SEALS;
}

static void asks_for_signals(int what, int argument)
{
    if (what == F_SETSIG && argument)
        rb_signal_by_fds(argument);
    if (what == F_SETFL && argument & O_ASYNC)
        rb_signal_by_fds(SIGIO);
    if (what == F_SETOWN || what == F_SETOWN_EX)
        rb_signal_by_fds(SIGURG);
}

#define RB_CONTROLS(name)                                                   \
    RB_INTERCEPT(int, name, (int fd, int what, ...))                        \
    {                                                                       \
        va_list list;                                                       \
        va_start(list, what);                                               \
        void *argument = va_arg(list, void *);                              \
        va_end(list);                                                       \
        const bool lock = is_lock(what) && argument;                        \
        const bool copy = what == F_DUPFD || what == F_DUPFD_CLOEXEC;       \
        const bool asks = is_question(what);                                \
        const uint32_t object = lock || copy ? rb_fd_object(fd) : SETTINGS; \
        if (what == F_SETPIPE_SZ)                                           \
            rb_fd_is_tight(rb_fd_object(fd));                               \
        asks_for_signals(what, (int)(intptr_t)argument);                    \
        if (!copy && !asks) /* a lock too, to wait for less than before */  \
            rb_fd_release(object);                                          \
        const int r = RB_REAL(name)(fd, what, argument);                    \
        if (copy)                                                           \
            rb_fd_new_as(r, object);                                        \
        else if (r >= 0 && (lock || asks))                                  \
            rb_fd_acquire_end(object);                                      \
        return r;                                                           \
    }
RB_CONTROLS(fcntl)
RB_CONTROLS(fcntl64)

// ioctl returns the number of bytes to read, and changes settings as F_SETFL does.
RB_INTERCEPT(int, ioctl, (int fd, unsigned long what, ...))
{
    va_list list;

    va_start(list, what);
    void *argument = va_arg(list, void *);
    va_end(list);
    const uint32_t object = what == FIONREAD ? rb_fd_object(fd) : RB_FD_NONE;
    if (what == FIONBIO || what == FIOASYNC)
        rb_fd_release(SETTINGS);
    if (what == FIOASYNC)
        rb_signal_by_fds(SIGIO);
    const int r = RB_REAL(ioctl)(fd, what, argument);
    rb_fd_may_be(r); // the result of TIOCGPTPEER
    if (what == FIONREAD && r == 0) {
        rb_fd_acquire_end(object);
        WRITE(argument, sizeof(int));
    }
    return r;
}

RB_INTERCEPT(int, flock, (int fd, int what))
{
    const uint32_t object = rb_fd_object(fd);

    rb_fd_release(object);
    const int r = RB_REAL(flock)(fd, what);
    if (r == 0)
        rb_fd_acquire_end(object);
    return r;
}

#define RB_LOCKS_FILE(name, offset)                       \
    RB_INTERCEPT(int, name, (int fd, int what, offset n)) \
    {                                                     \
        const uint32_t object = rb_fd_object(fd);         \
        if (what == F_ULOCK)                              \
            rb_fd_release(object);                        \
        const int r = RB_REAL(name)(fd, what, n);         \
        if (r == 0)                                       \
            rb_fd_acquire_end(object);                    \
        return r;                                         \
    }
RB_LOCKS_FILE(lockf, off_t)
RB_LOCKS_FILE(lockf64, off64_t)

RB_INTERCEPT(int, close, (int fd))
{
    RB_TOUCH(RB_HOW_WRITE, rb_fd_word(fd), rb_fd_close(fd));
    rb_fd_closing(fd);
    return RB_REAL(close)(fd);
}

RB_INTERCEPT(int, __close, (int fd))
{
    RB_TOUCH(RB_HOW_WRITE, rb_fd_word(fd), rb_fd_close(fd));
    rb_fd_closing(fd);
    return RB_REAL(__close)(fd);
}

RB_INTERCEPT(int, mq_close, (mqd_t fd))
{
    RB_TOUCH(RB_HOW_WRITE, rb_fd_word(fd), rb_fd_close(fd));
    rb_fd_closing(fd);
    return RB_REAL(mq_close)(fd);
}

RB_INTERCEPT(int, closedir, (DIR * d))
{
    DIR *given = d;

    __asm__("" : "+r"(given)); // the header declares it non-NULL, and libc answers EINVAL
    rb_fd_closing(given ? dirfd(given) : -1);
    return RB_REAL(closedir)(d);
}

RB_INTERCEPT(int, close_range, (unsigned first, unsigned last, int flags))
{
    if (flags == 0)
        rb_fd_closing_range(first, last);
    return RB_REAL(close_range)(first, last, flags);
}

RB_INTERCEPT(void, closefrom, (int first))
{
    rb_fd_closing_range(first < 0 ? 0 : (unsigned)first, ~0u);
    RB_REAL(closefrom)(first);
}

#define RB_OPENS_WITH_MODE(name, params, args)                     \
    RB_INTERCEPT(int, name, params)                                \
    {                                                              \
        mode_t mode = 0;                                           \
        if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) { \
            va_list list;                                          \
            va_start(list, flags);                                 \
            mode = va_arg(list, mode_t);                           \
            va_end(list);                                          \
        }                                                          \
        begin_open(flags);                                         \
        return end_open(RB_REAL(name) args);                       \
    }
RB_OPENS_WITH_MODE(open, (const char *path, int flags, ...), (path, flags, mode))
RB_OPENS_WITH_MODE(open64, (const char *path, int flags, ...), (path, flags, mode))
RB_OPENS_WITH_MODE(openat, (int fd, const char *path, int flags, ...), (fd, path, flags, mode))
RB_OPENS_WITH_MODE(openat64, (int fd, const char *path, int flags, ...), (fd, path, flags, mode))

RB_INTERCEPT(mqd_t, mq_open, (const char *name, int flags, ...))
{
    struct mq_attr *like = NULL;
    mode_t mode = 0;

    if (flags & O_CREAT) {
        va_list list;
        va_start(list, flags);
        mode = va_arg(list, mode_t);
        like = va_arg(list, struct mq_attr *);
        va_end(list);
    }
    begin_open(flags);
    const mqd_t r = end_open(RB_REAL(mq_open)(name, flags, mode, like));
    rb_fd_is_tight(rb_fd_object(r)); // all of them hold few messages
    return r;
}

RB_INTERCEPT(mqd_t, __mq_open_2, (const char *name, int flags))
{
    begin_open(flags);
    const mqd_t r = end_open(RB_REAL(__mq_open_2)(name, flags));
    rb_fd_is_tight(rb_fd_object(r));
    return r;
}

RB_INTERCEPT(sem_t *, sem_open, (const char *name, int flags, ...))
{
    unsigned value = 0;
    mode_t mode = 0;

    if (flags & O_CREAT) {
        va_list list;
        va_start(list, flags);
        mode = va_arg(list, mode_t);
        value = va_arg(list, unsigned);
        va_end(list);
    }
    begin_open(flags);
    sem_t *r = RB_REAL(sem_open)(name, flags, mode, value);
    rb_fd_acquire(FILE_SYSTEM);
    return r;
}
