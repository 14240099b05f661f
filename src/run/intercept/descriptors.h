// Descriptors order threads: who reads from a pipe is ordered after who wrote into it. Every descriptor
// stands for an object, and what is sent through one is released to its object, what is received acquired
// from it.
//
// Which object: what the kernel says is the same thing must be one object, or an edge is missing and a false
// report follows; two things in one object hide races and invent none. So
//   pipes, files     an object for each inode (hashed): both ends of a pipe, all openings of a file, FIFOs
//   socketpair, eventfd, epoll, timerfd   one of their own, given when they are made and shared by dup
//   signalfd         the signals that are read from it
//   inotify          one for all, released to by everything that is done to files
//   other sockets    one for all: who is at the other end is not known
//   everything else  one for all: terminals, devices, what came from elsewhere and has no inode of its own
// A descriptor is looked at (fstat) when it is first used, and the answer kept until it is closed, so it does
// not matter who made it. What exists under a name in the file system is one more object, for open, stat,
// unlink and the like, with what is known of files: owners, times, attributes. What descriptors are set to is
// another, so that who sets one tells those who ask, and not all who read.
//
// A number is given out again only after it was given up: closing releases to an object of the number, and
// whoever gets the number acquires it. So what a program keeps in a table by descriptor needs no lock.
//
// Closing a descriptor that another thread uses, with nothing to order the two, is a race like any other: the
// number may be somebody else's a moment later. A use is a read of a word that stands for the descriptor,
// closing it a write, after which the word has no history: what is done under a number that has been closed
// is not compared with what comes after. If a descriptor was closed and made again unseen, fstat's answer
// tells.
//
// Nothing here is held while the program blocks: a thread may be cancelled in any of these calls.
#ifndef RB_RUN_INTERCEPT_DESCRIPTORS_H
#define RB_RUN_INTERCEPT_DESCRIPTORS_H

#include <signal.h>

#include "run/core/rt.h"

enum {
    RB_FD_NONE,
    RB_FD_NAMES,   // the file system
    RB_FD_WATCHED, // inotify, fanotify
    RB_FD_SIGNALS, // signalfd
    RB_FD_SOCKETS,
    RB_FD_OTHERS,
    RB_FD_IPC,       // System V
    RB_FD_SETTINGS,  // of descriptors: flags, options of sockets
    RB_FD_EVERYBODY, // acquired by every receiver
    RB_FD_FIRST_OWN = 64,
    RB_FD_OWN_COUNT = 1 << 12,
    RB_FD_FIRST_INODE = RB_FD_FIRST_OWN + RB_FD_OWN_COUNT,
    RB_FD_INODE_COUNT = 1 << 12,
    RB_FD_COUNT = RB_FD_FIRST_INODE + RB_FD_INODE_COUNT
};

#define RB_FD_DESCRIPTORS (1u << 16) // those of higher numbers are looked at each time

// Which object a descriptor stands for, as far as it was looked at: RB_FD_NONE, it was not. Reset when it is
// closed or made. Written whole, without a lock.
extern RB_HIDDEN uint32_t rb_fd_objects[RB_FD_DESCRIPTORS];

// All leave errno alone and do nothing with RB_FD_NONE; all but the first two enter the guard themselves.
RB_HIDDEN uint32_t rb_fd_look(int fd);
// Of an open descriptor; RB_FD_NONE if it is none, or the runtime is off.
RB_INLINE uint32_t rb_fd_object(int fd)
{
    const uint32_t object =
        (unsigned)fd < RB_FD_DESCRIPTORS ? rb_load_relaxed(&rb_fd_objects[fd]) : RB_FD_NONE;

    return RB_LIKELY(object != RB_FD_NONE) ? object : rb_fd_look(fd);
}

RB_HIDDEN uint32_t rb_fd_inode(uint64_t device, uint64_t inode); // of a file

// While all rests, order is nobody's business: a release asks before the program's call, an acquire after it.
RB_HIDDEN void rb_fd_release_now(uint32_t object);
RB_HIDDEN void rb_fd_acquire_now(uint32_t object, bool end);
RB_INLINE void rb_fd_release(uint32_t object)
{
    if (!rb_resting())
        rb_fd_release_now(object);
}

RB_INLINE void rb_fd_acquire(uint32_t object)
{
    if (!rb_resting())
        rb_fd_acquire_now(object, false);
}

// The end of what comes in: released by who closes the other end, acquired by who reads nothing any more.
// Apart from the rest, or whoever receives something late would be ordered after a close that came meanwhile.
RB_HIDDEN void rb_fd_release_end(uint32_t object);
RB_INLINE void rb_fd_acquire_end(uint32_t object)
{
    if (!rb_resting())
        rb_fd_acquire_now(object, true);
}

// Whoever takes something out of what is full lets somebody go on who puts something in. That is an order
// too, the other way round, and followed only where it can matter, or all that answer each other would be
// ordered: for objects that were found full, asked for room, or made small. What is known of others than one
// of our own or a pipe is too little: room in a socket is made by whoever.
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

RB_HIDDEN bool rb_fd_told(void);        // errno, of a call that failed, is something the other end did
RB_HIDDEN void rb_fd_release_all(void); // every descriptor in use
// What is released to the first reaches who acquires the second, too, from now on: epoll, splice.
RB_HIDDEN void rb_fd_link(uint32_t from, uint32_t to);
RB_HIDDEN void rb_fd_read_signals(const void *buffer, size_t bytes); // from a signalfd
RB_HIDDEN void rb_fd_tells_of(const sigset_t *set);                  // a signalfd, made or changed

// The word that stands for a descriptor, and its size for a use (0: not to be looked at) and for closing it.
RB_HIDDEN const void *rb_fd_word(int fd);
RB_HIDDEN size_t rb_fd_use(int fd, uint32_t object);
RB_HIDDEN size_t rb_fd_close(int fd);
RB_HIDDEN bool rb_fd_of_word(uintptr_t address, int *fd);

// A descriptor was made: what it is will be found out; has an object of its own, with another one perhaps
// (-1: alone); is one more for the object.
RB_HIDDEN void rb_fd_new(int fd);
RB_HIDDEN void rb_fd_opened(int fd); // by a name
RB_HIDDEN void rb_fd_new_own(int fd, int other);
RB_HIDDEN void rb_fd_new_as(int fd, uint32_t object);
// Takes a result of a call that makes descriptors by some of its commands for the number of one.
RB_HIDDEN void rb_fd_may_be(long r);
// It is about to be closed. Whoever is at the other end will notice, and so will the next to get the number.
RB_HIDDEN void rb_fd_closing(int fd);
RB_HIDDEN void rb_fd_replacing(int fd, int by); // the same, if it is not the other
RB_HIDDEN void rb_fd_closing_range(unsigned first, unsigned last);
// A child is about to be made, and has them all: what is sent to it may come back by another one, or as a
// name, a semaphore, a signal, its end. Outside the guard.
RB_HIDDEN void rb_fd_child(void);
// Links every object to all receivers: what later descriptors are cannot be asked for any more. Outside the
// guard.
RB_HIDDEN void rb_fd_share_all(void);
// What was sent to other processes may come back without a descriptor, as a signal or an end; and what they
// are told without one may come back by a descriptor. Inside the guard.
RB_HIDDEN void rb_fd_acquire_others(struct rb_self *me);
RB_HIDDEN void rb_fd_release_others(struct rb_self *me);
// Messages that are about to be sent and that came in: their bytes, and the descriptors in them.
struct msghdr;
struct mmsghdr;
RB_HIDDEN void rb_fd_sends_message(const struct msghdr *m, uintptr_t pc);
RB_HIDDEN void rb_fd_sends_messages(const struct mmsghdr *m, unsigned count, uintptr_t pc);
RB_HIDDEN void rb_fd_got_message(const struct msghdr *m, ssize_t r, uintptr_t pc);
RB_HIDDEN void rb_fd_got_messages(const struct mmsghdr *m, unsigned count, uintptr_t pc);
// It is about to be sent to somebody who will not know it again.
RB_HIDDEN void rb_fd_passed_on(int fd);

#endif
