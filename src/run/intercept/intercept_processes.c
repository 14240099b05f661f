// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Other processes: the System V objects that the program shares with them,
// and the programs that it starts or becomes.
#include <stdarg.h>

#include "inproc/host.h"
#include "run/intercept/callers.h"
#include "run/intercept/descriptors.h"
#include "run/intercept/heap.h"
#include "run/intercept/intercept.h"
#include "run/intercept/signals/signals.h"

// ---- System V ------------------------------------------------------------------------------------------
// The queues, semaphore sets and shared segments of all processes are one sync object. Keys are names: a
// thread that finds an object is ordered after the thread that made it.

#define MOST_OPERATIONS 1024u

#define IPC (RB_LIKELY(rb_process.on) ? RB_FD_IPC : RB_FD_NONE)

#define RB_CHANGES(ret, name, params, args) \
    RB_INTERCEPT(ret, name, params)         \
    {                                       \
        rb_fd_release(IPC);                 \
        ret r = RB_REAL(name) args;         \
        rb_fd_acquire(IPC);                 \
        return r;                           \
    }
RB_CHANGES(int, msgget, (key_t key, int flags), (key, flags))
RB_CHANGES(int, semget, (key_t key, int n, int flags), (key, n, flags))
RB_CHANGES(int, shmget, (key_t key, size_t n, int flags), (key, n, flags))
RB_CHANGES(int, msgctl, (int queue, int what, struct msqid_ds *data), (queue, what, data))
RB_CHANGES(int, shmctl, (int segment, int what, struct shmid_ds *data), (segment, what, data))

RB_INTERCEPT(int, semctl, (int set, int number, int what, ...))
{
    va_list list;

    va_start(list, what);
    void *argument = va_arg(list, void *);
    va_end(list);
    rb_fd_release(IPC);
    const int r = RB_REAL(semctl)(set, number, what, argument);
    rb_fd_acquire(IPC);
    return r;
}

RB_INTERCEPT(int, msgsnd, (int queue, const void *from, size_t n, int flags))
{
    READ(from, sizeof(long) + n);
    rb_fd_release(IPC);
    const int r = RB_REAL(msgsnd)(queue, from, n, flags);
    rb_fd_acquire(IPC); // the receiver made room
    return r;
}

RB_INTERCEPT(ssize_t, msgrcv, (int queue, void *to, size_t n, long type, int flags))
{
    rb_fd_release(IPC);
    const ssize_t r = RB_REAL(msgrcv)(queue, to, n, type, flags);
    if (r >= 0) {
        rb_fd_acquire(IPC);
        WRITE(to, sizeof(long) + (size_t)r);
    }
    return r;
}

static bool changes_value(const struct sembuf *op, size_t n)
{
    for (size_t i = 0; op && i < n && i < MOST_OPERATIONS; i++)
        if (op[i].sem_op != 0) // others may wait for 0
            return true;
    return false;
}

#define RB_OPERATES(name, params, args)                              \
    RB_INTERCEPT(int, name, params)                                  \
    {                                                                \
        if (changes_value(op, n))                                    \
            rb_fd_release(IPC);                                      \
        const int r = RB_REAL(name) args;                            \
        rb_fd_acquire(IPC); /* also when it was removed meanwhile */ \
        return r;                                                    \
    }
RB_OPERATES(semop, (int set, struct sembuf *op, size_t n), (set, op, n))
RB_OPERATES(semtimedop, (int set, struct sembuf *op, size_t n, const struct timespec *t), (set, op, n, t))

// Forgets the history of the memory. Without the segment's size, all history is forgotten.
static void attach_segment(struct rb_self *me, uintptr_t address, int segment)
{
    if (rb_host.sandboxed)
        rb_lost_edge(me);
    else
        rb_memory_new(me, address, rb_segment_bytes(segment));
}

// The number of attachments is visible to other processes, hence the release.
RB_INTERCEPT(void *, shmat, (int segment, const void *at, int flags))
{
    rb_fd_release(IPC);
    void *r = RB_REAL(shmat)(segment, at, flags);
    rb_fd_acquire(IPC);
    if (r != (void *)-1)
        RB_BESIDE((void)0, attach_segment(me, (uintptr_t)r, segment));
    return r;
}

RB_CHANGES(int, shmdt, (const void *at), (at))

// ---- programs that the program starts or becomes -------------------------------------------------------

#define RB_EXEC_FUNCTION RB_INTERCEPT
#define RB_EXEC_REAL     RB_REAL
#define RB_EXEC_ITSELF() ((void)0)
#define RB_EXEC_CHILD()  rb_before_child()
#include "inproc/exec_functions.h"
