/* Ways to get a descriptor, and to give it up again, as many as libc has. All take the lowest number that is
 * free. */
#ifndef NUMBERS_H
#define NUMBERS_H

#include "../order.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>

enum {
    BY_SOCKET,
    BY_OPEN,
    BY_OPENAT,
    BY_CREAT,
    BY_DUP,
    BY_DUPFD,
    BY_DUPFD_CLOEXEC,
    BY_PIPE,
    BY_PIPE2,
    BY_SOCKETPAIR,
    BY_EVENTFD,
    BY_TIMERFD,
    BY_SIGNALFD,
    BY_EPOLL,
    BY_INOTIFY,
    BY_FANOTIFY,
    BY_MEMFD,
    BY_PIDFD,
    BY_MKSTEMP,
    BY_PTY,
    BY_ACCEPT,
    BY_MESSAGE,
    BY_OPENDIR,
    BY_FOPEN,
    BY_FDOPEN,
    BY_TMPFILE,
    BY_SETMNTENT,
    BY_CALL_OPEN,
    BY_CALL_DUP,
    BY_CALL_EVENTFD,
    BY_CALL_USERFAULTFD,
    BY_CALL_PERF,
    BY_CALL_URING,
    UNTIL_RANGE,
    UNTIL_CALL,
    WAYS
};

static int listener, caller, messages[2]; /* of BY_ACCEPT and BY_MESSAGE */

/* By the first thread alone, before the others run. */
static inline void prepare_ways(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    socklen_t size = sizeof(sa_family_t);

    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    RB_CHECK(bind(listener, (struct sockaddr *)&name, size) == 0 && listen(listener, 8) == 0);
    size = sizeof(name);
    RB_CHECK(getsockname(listener, (struct sockaddr *)&name, &size) == 0);
    for (int i = 0; i < 2; i++) {
        caller = socket(AF_UNIX, SOCK_STREAM, 0);
        RB_CHECK(connect(caller, (struct sockaddr *)&name, size) == 0);
    }
    RB_CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, messages) == 0);
    for (int i = 0; i < 2; i++) {
        union {
            struct cmsghdr head;
            char room[CMSG_SPACE(sizeof(int))];
        } beside;
        struct iovec piece = {"x", 1};
        struct msghdr m = {.msg_iov = &piece,
                           .msg_iovlen = 1,
                           .msg_control = &beside,
                           .msg_controllen = sizeof(beside)};
        memset(&beside, 0, sizeof(beside));
        beside.head = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
        RB_CHECK(sendmsg(messages[0], &m, 0) == 1);
    }
}

static inline int receive(void)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } beside;
    char byte;
    struct iovec piece = {&byte, 1};
    struct msghdr m = {.msg_iov = &piece,
                       .msg_iovlen = 1,
                       .msg_control = &beside,
                       .msg_controllen = sizeof(beside)};
    int fd;

    RB_CHECK(recvmsg(messages[1], &m, 0) == 1 && m.msg_controllen);
    memcpy(&fd, CMSG_DATA(&beside.head), sizeof(fd));
    return fd;
}

static inline int first_of(int made, const int pair[2])
{
    if (made != 0)
        return -1;
    close(pair[1]);
    return pair[0];
}

/* Returns the number, or -1 where the kernel refuses; what has to be closed but the number is in *at. */
static inline int get_number(int way, void **at)
{
    int pair[2];
    sigset_t set;

    *at = NULL;
    sigemptyset(&set);
    switch (way) {
    case BY_SOCKET:
    case UNTIL_RANGE:
    case UNTIL_CALL:
        return socket(AF_UNIX, SOCK_STREAM, 0);
    case BY_OPEN:
        return open("/dev/null", O_RDONLY);
    case BY_OPENAT:
        return openat(AT_FDCWD, "/dev/null", O_RDONLY);
    case BY_CREAT:
        return creat("/dev/null", 0600);
    case BY_DUP:
        return dup(2);
    case BY_DUPFD:
        return fcntl(2, F_DUPFD, 3);
    case BY_DUPFD_CLOEXEC:
        return fcntl(2, F_DUPFD_CLOEXEC, 3);
    case BY_PIPE:
        return first_of(pipe(pair), pair);
    case BY_PIPE2:
        return first_of(pipe2(pair, O_CLOEXEC), pair);
    case BY_SOCKETPAIR:
        return first_of(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), pair);
    case BY_EVENTFD:
        return eventfd(0, 0);
    case BY_TIMERFD:
        return timerfd_create(CLOCK_MONOTONIC, 0);
    case BY_SIGNALFD:
        return signalfd(-1, &set, 0);
    case BY_EPOLL:
        return epoll_create1(0);
    case BY_INOTIFY:
        return inotify_init1(0);
    case BY_FANOTIFY:
        return fanotify_init(FAN_CLASS_NOTIF, O_RDONLY);
    case BY_MEMFD:
        return memfd_create("number", 0);
    case BY_PIDFD:
        return pidfd_open(getpid(), 0);
    case BY_MKSTEMP: {
        char path[] = "numberXXXXXX";
        const int fd = mkstemp(path);
        unlink(path);
        return fd;
    }
    case BY_PTY:
        return posix_openpt(O_RDWR | O_NOCTTY);
    case BY_ACCEPT:
        return accept(listener, NULL, NULL);
    case BY_MESSAGE:
        return receive();
    case BY_OPENDIR:
        *at = opendir("/");
        return dirfd(*at);
    case BY_FOPEN:
        *at = fopen("/dev/null", "r");
        return fileno(*at);
    case BY_FDOPEN:
        *at = fdopen(dup(2), "w");
        return fileno(*at);
    case BY_TMPFILE:
        *at = tmpfile();
        return fileno(*at);
    case BY_SETMNTENT:
        *at = setmntent("/dev/null", "r");
        return fileno(*at);
    case BY_CALL_OPEN:
        return (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY);
    case BY_CALL_DUP:
        return (int)syscall(SYS_dup, 2);
    case BY_CALL_EVENTFD:
        return (int)syscall(SYS_eventfd2, 0, 0);
    case BY_CALL_USERFAULTFD:
        return (int)syscall(SYS_userfaultfd, 0);
    case BY_CALL_PERF: {
        char attributes[64] = {1, 0, 0, 0, 64};
        return (int)syscall(SYS_perf_event_open, attributes, 0, -1, -1, 0);
    }
    case BY_CALL_URING: {
        char parameters[128] = {0};
        return (int)syscall(SYS_io_uring_setup, 1, parameters);
    }
    default:
        return -1;
    }
}

static inline void give_up(int way, int fd, void *at)
{
    switch (way) {
    case BY_OPENDIR:
        closedir(at);
        break;
    case BY_FOPEN:
    case BY_FDOPEN:
    case BY_TMPFILE:
        fclose(at);
        break;
    case BY_SETMNTENT:
        endmntent(at);
        break;
    case UNTIL_RANGE:
        RB_CHECK(close_range((unsigned)fd, (unsigned)fd, 0) == 0 || errno == ENOSYS);
        break;
    case UNTIL_CALL:
        RB_CHECK(syscall(SYS_close, fd) == 0);
        break;
    default:
        close(fd);
    }
}

#endif
