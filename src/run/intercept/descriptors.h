// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Descriptors order threads: a thread that reads from a pipe is ordered after the thread
// that wrote. Every descriptor stands for a sync object. Sending through a descriptor
// releases to its object, receiving acquires from it.
//
// Which object: descriptors of the same kernel object must share one sync object, or an edge is missing and
// a false report follows. Two kernel objects with one sync object hide races and invent none. So
//   pipes, files     an object for each inode (hashed): both ends of a pipe, all openings of a file, FIFOs
//   socketpair, eventfd, epoll, timerfd   an object of their own, given at creation and shared by dup
//   signalfd         the objects of the signals that are read from it
//   inotify          one object for all; every change of files releases to it
//   other sockets    one object for all: the process at the other end is not known
//   everything else  one object for all: terminals, devices, others without an inode of their own
// A descriptor is inspected (fstat) at its first use, and the answer is kept until it is closed, so its
// origin does not matter. One more object stands for the names of the file system (open, stat, unlink) and
// the metadata of files: owners, times, attributes. Another one stands for settings of descriptors, so that
// setting one orders threads that query it, and not all readers.
//
// A number is given out again only after it was given up. Closing releases to an object of the number, and
// a thread that gets the number acquires from it. So a program's table by descriptor needs no lock.
//
// Closing a descriptor that another thread uses, with nothing to order the two, is a race: the number may
// soon stand for another file. A use is a read of a word that stands for the descriptor, and closing it is
// a write. After it the word has no history: later uses of the number are not compared with earlier ones.
// fstat's answer shows whether a descriptor was closed and made again unseen.
//
// No lock is held while the program blocks: a thread may be cancelled in any of these calls.
#ifndef RB_RUN_INTERCEPT_DESCRIPTORS_H
#define RB_RUN_INTERCEPT_DESCRIPTORS_H

#include <signal.h>

#include "run/core/rt.h"

enum {
    RB_FD_NONE,
    RB_FD_NAMES,   // the names of the file system
    RB_FD_WATCHED, // inotify, fanotify
    RB_FD_SIGNALS, // signalfd
    RB_FD_SOCKETS,
    RB_FD_OTHERS,
    RB_FD_IPC,      // System V
    RB_FD_SETTINGS, // settings of descriptors: flags, options of sockets
    RB_FD_ALL,      // acquired by every receiver
    RB_FD_FIRST_OWN = 64,
    RB_FD_OWN_COUNT = 1 << 12,
    RB_FD_FIRST_INODE = RB_FD_FIRST_OWN + RB_FD_OWN_COUNT,
    RB_FD_INODE_COUNT = 1 << 12,
    RB_FD_COUNT = RB_FD_FIRST_INODE + RB_FD_INODE_COUNT
};

#define RB_FD_DESCRIPTORS (1u << 16) // higher numbers are inspected at each use

// The object of each descriptor; RB_FD_NONE if it was not inspected. Reset when the descriptor is closed or
// made. Words are written whole, without a lock.
extern RB_HIDDEN uint32_t rb_fd_objects[RB_FD_DESCRIPTORS];

// All functions below keep errno and ignore RB_FD_NONE. All but the first two enter the guard themselves.
RB_HIDDEN uint32_t rb_fd_look(int fd);
// Returns the object of an open descriptor; RB_FD_NONE if it is not open, or the runtime is off.
RB_INLINE uint32_t rb_fd_object(int fd)
{
    const uint32_t object =
        (unsigned)fd < RB_FD_DESCRIPTORS ? rb_load_relaxed(&rb_fd_objects[fd]) : RB_FD_NONE;

    return RB_LIKELY(object != RB_FD_NONE) ? object : rb_fd_look(fd);
}

RB_HIDDEN uint32_t rb_fd_inode(uint64_t device, uint64_t inode); // of a file

// While tracking is paused these do nothing: a release asks before the program's call, an acquire after it.
RB_HIDDEN void rb_fd_release_now(uint32_t object);
RB_HIDDEN void rb_fd_acquire_now(uint32_t object, bool end);
RB_INLINE void rb_fd_release(uint32_t object)
{
    if (!rb_is_paused())
        rb_fd_release_now(object);
}

RB_INLINE void rb_fd_acquire(uint32_t object)
{
    if (!rb_is_paused())
        rb_fd_acquire_now(object, false);
}

// The end of input: released by a thread that closes the other end, acquired by one that
// reads the end. It is an object of its own. Else a thread that receives late data would
// be ordered after a close in the meantime.
RB_HIDDEN void rb_fd_release_end(uint32_t object);
RB_INLINE void rb_fd_acquire_end(uint32_t object)
{
    if (!rb_is_paused())
        rb_fd_acquire_now(object, true);
}

// Taking data out of a full object lets a writer continue. That is an order in the other direction. It is
// followed only for objects that were found full, asked for room, or made small. Followed everywhere, it
// would order all threads that answer each other. It applies to own objects and inodes alone: room in other
// sockets may be made by any process.
extern RB_HIDDEN bool rb_fd_tight[RB_FD_COUNT];
RB_HIDDEN void rb_fd_is_tight(uint32_t object);
RB_INLINE void rb_fd_takes(uint32_t object) // before the call
{
    if (!rb_idle() && RB_UNLIKELY(rb_load_relaxed(&rb_fd_tight[object])))
        rb_fd_release(object);
}

RB_INLINE void rb_fd_had_room(uint32_t object) // after it
{
    if (!rb_idle() && RB_UNLIKELY(rb_load_relaxed(&rb_fd_tight[object])))
        rb_fd_acquire(object);
}

RB_HIDDEN bool rb_fd_told(void);        // errno, of a failed call, was caused by the other end
RB_HIDDEN void rb_fd_release_all(void); // every descriptor in use
// From now on a release to the first object reaches an acquire of the second one too: epoll, splice.
RB_HIDDEN void rb_fd_link(uint32_t from, uint32_t to);
RB_HIDDEN void rb_fd_read_signals(const void *buffer, size_t bytes); // from a signalfd
RB_HIDDEN void rb_fd_tells_of(const sigset_t *set);                  // a signalfd, made or changed

// The word that stands for a descriptor, and its size for a use (0: not to be checked) and for closing it.
RB_HIDDEN const void *rb_fd_word(int fd);
RB_HIDDEN size_t rb_fd_use(int fd, uint32_t object);
RB_HIDDEN size_t rb_fd_close(int fd);
RB_HIDDEN bool rb_fd_of_word(uintptr_t address, int *fd);

// Begins the life of a descriptor. rb_fd_new leaves its kind to be inspected; rb_fd_new_own gives it an
// object of its own, shared with `other` (-1: not shared); rb_fd_new_as gives it the object.
RB_HIDDEN void rb_fd_new(int fd);
RB_HIDDEN void rb_fd_opened(int fd); // by a name
RB_HIDDEN void rb_fd_new_own(int fd, int other);
RB_HIDDEN void rb_fd_new_as(int fd, uint32_t object);
// Takes the result of a call that makes descriptors by some of its commands as the number of one.
RB_HIDDEN void rb_fd_may_be(long r);
// Announces that the descriptor is about to be closed, to the other end and
// to the next thread that gets the number.
RB_HIDDEN void rb_fd_closing(int fd);
RB_HIDDEN void rb_fd_replacing(int fd, int by); // the same, unless both are equal
RB_HIDDEN void rb_fd_closing_range(unsigned first, unsigned last);
// Prepares for a child, which gets all descriptors. Data sent to it may return by another descriptor, as a
// name, a semaphore, a signal, or its end. Outside the guard.
RB_HIDDEN void rb_fd_child(void);
// Links every object to all receivers, for when later descriptors cannot
// be inspected any more. Outside the guard.
RB_HIDDEN void rb_fd_share_all(void);
// Data sent to other processes may return without a descriptor, as a signal or an end. Data told to them
// without a descriptor may return by one. Inside the guard.
RB_HIDDEN void rb_fd_acquire_others(struct rb_self *me);
RB_HIDDEN void rb_fd_release_others(struct rb_self *me);
// Messages about to be sent, and received messages: their bytes, and the descriptors in them.
struct msghdr;
struct mmsghdr;
RB_HIDDEN void rb_fd_sends_message(const struct msghdr *m, uintptr_t pc);
RB_HIDDEN void rb_fd_sends_messages(const struct mmsghdr *m, unsigned count, uintptr_t pc);
RB_HIDDEN void rb_fd_got_message(const struct msghdr *m, ssize_t r, uintptr_t pc);
RB_HIDDEN void rb_fd_got_messages(const struct mmsghdr *m, unsigned count, uintptr_t pc);
// Announces that the descriptor is about to be sent to a receiver that will not recognise it.
RB_HIDDEN void rb_fd_passed_on(int fd);

#endif
