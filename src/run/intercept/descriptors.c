// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run/intercept/descriptors.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run/access/history.h"
#include "run/intercept/signals/signals.h"
#include "run/sync/sync.h"

#define LINKS       8
#define MOST_SHARED 1024u // descriptors that are inspected when a child is made

// Addresses for the tables of sync objects and accesses, where no process has memory.
#define OBJECTS ((uintptr_t)1 << 54) // 128 bytes each: for data, and for the end
#define WORDS   (OBJECTS + ((uintptr_t)1 << 40))
#define WORD    8u
#define NUMBERS (OBJECTS + ((uintptr_t)1 << 41)) // 64 bytes each

// All are arrays of words that are written whole, without a lock. Zeros mean that nothing is known.
// identity: fstat's answer, hashed; 0 if the descriptor was not inspected. linked: a second target of
// releases; it only ever grows, up to RB_FD_ALL.
uint32_t rb_fd_objects[RB_FD_DESCRIPTORS];
bool rb_fd_tight[RB_FD_COUNT]; // likewise only ever grows
static uint32_t identity[RB_FD_DESCRIPTORS];
static uint32_t linked[RB_FD_COUNT];
static uint32_t highest; // highest descriptor ever used
static uint32_t own_made;
static bool all_used, watched_used, ranges_used;

static uintptr_t address_of(uint32_t object)
{
    return OBJECTS + (uintptr_t)object * 128;
}

static uintptr_t end_of(uint32_t object)
{
    return OBJECTS + (uintptr_t)object * 128 + 64;
}

static void note_number(unsigned fd)
{
    uint32_t most = rb_load_relaxed(&highest);

    while (fd > most && !rb_cas_weak_relaxed(&highest, &most, fd))
        ;
}

uint32_t rb_fd_inode(uint64_t device, uint64_t inode)
{
    return RB_FD_FIRST_INODE + (uint32_t)(rb_mix64(inode + rb_mix64(device)) % RB_FD_INODE_COUNT);
}

// Returns the object of a descriptor, by fstat. `*id` is never 0 if it is open. All descriptors without an
// inode of their own have the same `*id`.
static uint32_t inspect_descriptor(int fd, uint32_t *id)
{
    struct stat s;

    *id = 0;
    if (rb_host.sandboxed) // then all objects are linked to all receivers
        return RB_FD_OTHERS;
    if (syscall(SYS_fstat, fd, &s))
        return errno == EBADF ? RB_FD_NONE : RB_FD_OTHERS;
    *id = (uint32_t)rb_mix64(s.st_ino + rb_mix64(s.st_dev)) | 1;
    switch (s.st_mode & S_IFMT) {
    case S_IFSOCK:
        return RB_FD_SOCKETS;
    case S_IFIFO:
    case S_IFREG:
    case S_IFDIR:
        return rb_fd_inode(s.st_dev, s.st_ino);
    default:
        return RB_FD_OTHERS;
    }
}

uint32_t rb_fd_look(int fd)
{
    const int saved = errno;
    uint32_t object, id;

    if (fd < 0 || !rb_process.on)
        return RB_FD_NONE;
    object = inspect_descriptor(fd, &id);
    if (object != RB_FD_NONE && (unsigned)fd < RB_FD_DESCRIPTORS) {
        note_number((unsigned)fd);
        rb_store_relaxed(&identity[fd], id);
        rb_store_relaxed(&rb_fd_objects[fd], object);
    }
    errno = saved;
    return object;
}

// ---- use and close -------------------------------------------------------------------------------------

const void *rb_fd_word(int fd)
{
    return (const void *)(WORDS + (uintptr_t)fd * WORD);
}

bool rb_fd_of_word(uintptr_t address, int *fd)
{
    if (address < WORDS || address >= WORDS + RB_FD_DESCRIPTORS * WORD)
        return false;
    *fd = (int)((address - WORDS) / WORD);
    return true;
}

size_t rb_fd_use(int fd, uint32_t object)
{
    return object != RB_FD_NONE && fd >= 0 && (unsigned)fd < RB_FD_DESCRIPTORS ? WORD : 0;
}

size_t rb_fd_close(int fd)
{
    const int saved = errno;
    uint32_t now = 0;

    if (fd < 0 || (unsigned)fd >= RB_FD_DESCRIPTORS)
        return 0;
    const uint32_t before = rb_load_relaxed(&identity[fd]);
    if (before)
        inspect_descriptor(fd, &now);
    errno = saved;
    return before && before == now ? WORD : 0;
}

// ---- numbers -------------------------------------------------------------------------------------------

// Returns the object of the number. Those above the table share the last one, which stands for ranges too.
static uintptr_t number_of(unsigned fd)
{
    return NUMBERS + (uintptr_t)(fd < RB_FD_DESCRIPTORS ? fd : RB_FD_DESCRIPTORS) * 64;
}

static void release_number(unsigned fd)
{
    const int saved = errno;
    struct rb_self *me = rb_enter();

    if (me) {
        rb_on_release(me, number_of(fd));
        rb_leave(me);
    }
    errno = saved;
}

// Inside the guard.
static void acquire_number(struct rb_self *me, unsigned fd)
{
    rb_on_acquire(me, number_of(fd));
    if (RB_UNLIKELY(rb_load_relaxed(&ranges_used)))
        rb_on_acquire(me, number_of(RB_FD_DESCRIPTORS));
}

// Begins the life of a number: its uses are forgotten, and the last close is acquired. While tracking is
// paused the history has no valid use of it.
static void begin_number(unsigned fd)
{
    const int saved = errno;
    struct rb_self *me = rb_is_paused() ? NULL : rb_enter();

    if (me) {
        if (fd < RB_FD_DESCRIPTORS)
            rb_accesses_forget(me, WORDS + (uintptr_t)fd * WORD, WORD);
        acquire_number(me, fd);
        rb_leave(me);
    }
    errno = saved;
}

static void set_object(unsigned fd, uint32_t object)
{
    rb_store_relaxed(&identity[fd], 0);
    rb_store_relaxed(&rb_fd_objects[fd], object);
}

void rb_fd_new(int fd)
{
    rb_fd_new_as(fd, RB_FD_NONE);
}

void rb_fd_new_as(int fd, uint32_t object)
{
    if (fd < 0 || !rb_process.on)
        return;
    if (object == RB_FD_WATCHED)
        rb_store_relaxed(&watched_used, true);
    begin_number((unsigned)fd);
    if ((unsigned)fd >= RB_FD_DESCRIPTORS)
        return;
    note_number((unsigned)fd);
    set_object((unsigned)fd, object);
}

void rb_fd_may_be(long r)
{
    const int saved = errno;
    struct rb_self *me = r <= 0 || r > INT32_MAX || rb_is_paused() ? NULL : rb_enter();

    if (me) {
        acquire_number(me, (unsigned)r);
        rb_leave(me);
    }
    errno = saved;
}

// Opening a FIFO waits until its other end is opened. That order was released by no earlier call.
void rb_fd_opened(int fd)
{
    const int saved = errno;
    struct rb_self *me;
    struct stat s;

    if (fd < 0 || !rb_process.on)
        return;
    rb_fd_new(fd);
    const bool orders = rb_host.sandboxed || (syscall(SYS_fstat, fd, &s) == 0 && S_ISFIFO(s.st_mode));
    if (orders && (me = rb_enter()) != NULL) {
        rb_lost_edge(me);
        rb_leave(me);
    }
    errno = saved;
}

void rb_fd_new_own(int fd, int other)
{
    const uint32_t n = rb_fetch_add_relaxed(&own_made, 1) % RB_FD_OWN_COUNT;

    rb_fd_new_as(fd, RB_FD_FIRST_OWN + n);
    rb_fd_new_as(other, RB_FD_FIRST_OWN + n);
}

// ---- edges ---------------------------------------------------------------------------------------------

static void release_object(struct rb_self *me, uint32_t object)
{
    for (unsigned i = 0; object != RB_FD_NONE; i++) {
        if (i == LINKS) {
            rb_store_relaxed(&all_used, true);
            object = RB_FD_ALL;
        }
        rb_on_release(me, address_of(object));
        object = object == RB_FD_ALL ? RB_FD_NONE : rb_load_relaxed(&linked[object]);
    }
}

// Releases a change of files to their watchers.
static void release_watched(struct rb_self *me, uint32_t object)
{
    const bool in_files = object >= RB_FD_FIRST_INODE || object == RB_FD_NAMES;

    if (RB_UNLIKELY(rb_load_relaxed(&watched_used)) && in_files)
        release_object(me, RB_FD_WATCHED);
}

// Releases to the signals that announce events of descriptors (fcntl, mq_notify).
static void release_signals(struct rb_self *me)
{
    const uint64_t set = rb_load_relaxed(&rb_signals_of_fds);

    if (RB_UNLIKELY(set != 0))
        rb_signals_release(me, set);
}

void rb_fd_release_now(uint32_t object)
{
    const int saved = errno;
    struct rb_self *me = object == RB_FD_NONE ? NULL : rb_enter();

    if (me) {
        release_object(me, object);
        release_watched(me, object);
        release_signals(me);
        rb_leave(me);
    }
    errno = saved;
}

void rb_fd_release_end(uint32_t object)
{
    const int saved = errno;
    struct rb_self *me = object == RB_FD_NONE ? NULL : rb_enter();

    if (me) {
        rb_on_release(me, end_of(object));
        release_object(me, rb_load_relaxed(&linked[object]));
        release_watched(me, object);
        rb_on_release(me, rb_signal_object(SIGPIPE)); // for threads that still write
        release_signals(me);
        rb_leave(me);
    }
    errno = saved;
}

static uint64_t by_fds; // signals that some signalfd delivers: a bit for each, from signal 1

void rb_fd_tells_of(const sigset_t *set)
{
    uint64_t bits;

    __builtin_memcpy(&bits, set, sizeof(bits));
    rb_fetch_or_relaxed(&by_fds, bits);
}

// Acquires all of them: the one that was read is not known.
static void acquire_signals(struct rb_self *me)
{
    const uint64_t set = rb_load_relaxed(&by_fds);

    for (int number = 1; number <= 64; number++)
        if (set >> (number - 1) & 1)
            rb_signal_came(me, number);
}

// Returns true if the object is signalfd's, or is linked to it.
static bool has_signals(uint32_t object)
{
    uint32_t of = RB_FD_SIGNALS;

    for (unsigned i = 0; i < LINKS && of != RB_FD_NONE; i++) {
        if (of == object || of == RB_FD_ALL)
            return true;
        of = rb_load_relaxed(&linked[of]);
    }
    return of != RB_FD_NONE;
}

void rb_fd_acquire_now(uint32_t object, bool end)
{
    const int saved = errno;
    struct rb_self *me = object == RB_FD_NONE ? NULL : rb_enter();

    if (me) {
        rb_on_acquire(me, address_of(object));
        if (end)
            rb_on_acquire(me, end_of(object));
        if (RB_UNLIKELY(has_signals(object)))
            acquire_signals(me);
        rb_fd_acquire_others(me);
        rb_leave(me);
    }
    errno = saved;
}

void rb_fd_acquire_others(struct rb_self *me)
{
    if (RB_UNLIKELY(rb_load_relaxed(&all_used)))
        rb_on_acquire(me, address_of(RB_FD_ALL));
}

void rb_fd_release_others(struct rb_self *me)
{
    if (RB_UNLIKELY(rb_load_relaxed(&all_used)))
        rb_on_release(me, address_of(RB_FD_ALL));
}

// A thread that found the object not tight has released nothing. So
// everything recorded until now is forgotten.
void rb_fd_is_tight(uint32_t object)
{
    const int saved = errno;
    struct rb_self *me;

    if (object < RB_FD_FIRST_OWN || rb_exchange_seq_cst(&rb_fd_tight[object], true))
        return;
    if ((me = rb_enter()) != NULL) {
        rb_lost_edge(me);
        rb_leave(me);
    }
    errno = saved;
}

bool rb_fd_told(void)
{
    return errno == EPIPE || errno == ECONNRESET || errno == ECONNREFUSED || errno == ECONNABORTED ||
           errno == ENOTCONN || errno == ESHUTDOWN;
}

void rb_fd_release_all(void)
{
    const uint32_t most = rb_load_relaxed(&highest);

    for (uint32_t fd = 0; fd <= most; fd++)
        rb_fd_release(rb_load_relaxed(&rb_fd_objects[fd]));
}

// The link is set before the acquire. So a release either precedes that acquire, and the release after it
// passes it on, or finds the link.
void rb_fd_link(uint32_t from, uint32_t to)
{
    uint32_t before = RB_FD_NONE;

    if (from == RB_FD_NONE || to == RB_FD_NONE || from == to)
        return;
    if (!rb_cas_strong_relaxed(&linked[from], &before, to) && before != to) {
        rb_store_relaxed(&linked[from], RB_FD_ALL);
        to = RB_FD_ALL;
    }
    if (to == RB_FD_ALL)
        rb_store_relaxed(&all_used, true);
    rb_fd_acquire_end(from);
    rb_fd_release(to);
}

static bool reaches_all(uint32_t object)
{
    return rb_load_relaxed(&linked[object]) == RB_FD_ALL;
}

void rb_fd_share_all(void)
{
    const uint32_t most = rb_load_relaxed(&highest);

    for (uint32_t fd = 0; fd <= most; fd++)
        rb_fd_object((int)fd);
    for (uint32_t object = RB_FD_NONE + 1; object < RB_FD_COUNT; object++)
        if (object != RB_FD_ALL && !reaches_all(object))
            rb_fd_link(object, RB_FD_ALL);
}

// The first three descriptors (standard input, output, error) are not inspected: they
// are for other processes than our children.
void rb_fd_child(void)
{
    static const uint32_t everywhere[] = {RB_FD_NAMES, RB_FD_IPC}; // known without a descriptor
    const uint32_t most = rb_load_relaxed(&highest);
    const int saved = errno;
    struct stat s;

    for (unsigned i = 0; i < RB_LENGTH(everywhere); i++)
        if (!reaches_all(everywhere[i]))
            rb_fd_link(everywhere[i], RB_FD_ALL);
    for (uint32_t fd = 3; fd <= most && fd < MOST_SHARED; fd++) {
        const uint32_t object = rb_fd_object((int)fd);
        if (object != RB_FD_NONE && !reaches_all(object) && !syscall(SYS_fstat, (int)fd, &s) &&
            (S_ISFIFO(s.st_mode) || S_ISSOCK(s.st_mode)))
            rb_fd_link(object, RB_FD_ALL);
    }
    errno = saved;
}

void rb_fd_read_signals(const void *buffer, size_t bytes)
{
    const struct signalfd_siginfo *signal = buffer;
    const int saved = errno;
    struct rb_self *me = rb_enter();

    if (me) {
        for (; bytes >= sizeof(*signal); signal++, bytes -= sizeof(*signal))
            rb_signal_came(me, (int)signal->ssi_signo);
        rb_leave(me);
    }
    errno = saved;
}

// ---- the end -------------------------------------------------------------------------------------------

// Releases the end of an open descriptor. Returns false if it is not open.
static bool release_open(int fd)
{
    const uint32_t object = rb_fd_object(fd);

    if (object == RB_FD_NONE)
        return false;
    release_number((unsigned)fd);
    rb_fd_release_end(object);
    return true;
}

// While tracking is paused the descriptor is not even inspected.
void rb_fd_closing(int fd)
{
    if (fd < 0 || !rb_process.on || (!rb_is_paused() && !release_open(fd)))
        return;
    if ((unsigned)fd < RB_FD_DESCRIPTORS)
        set_object((unsigned)fd, RB_FD_NONE);
}

void rb_fd_replacing(int fd, int by)
{
    if (fd >= 0 && fd != by && rb_process.on && !rb_is_paused())
        release_open(fd);
}

// Unused numbers are closed with the others, and one object stands for them.
void rb_fd_closing_range(unsigned first, unsigned last)
{
    const uint32_t most = rb_load_relaxed(&highest);

    if (first > last || !rb_process.on)
        return;
    rb_store_relaxed(&ranges_used, true);
    if (!rb_is_paused())
        release_number(RB_FD_DESCRIPTORS);
    for (unsigned fd = first; fd <= last && fd <= most; fd++)
        rb_fd_closing((int)fd);
}

// The receiver has a descriptor that is not known there. So no thread may know more of it than
// fstat tells: all descriptors of the object get the object of their inode or kind. A thread
// that is using the old object meanwhile is covered by links in both directions. Pipes and
// files are known by their inodes everywhere.
void rb_fd_passed_on(int fd)
{
    const uint32_t object = rb_fd_object(fd), most = rb_load_relaxed(&highest);
    const int saved = errno;

    if (object < RB_FD_FIRST_OWN || object >= RB_FD_FIRST_INODE)
        return;
    uint32_t id;
    const uint32_t now = inspect_descriptor(fd, &id);
    for (uint32_t i = 0; i <= most; i++) {
        uint32_t same = object;
        rb_cas_strong_relaxed(&rb_fd_objects[i], &same, now);
    }
    rb_fd_link(object, now);
    rb_fd_link(now, RB_FD_ALL);
    errno = saved;
}
