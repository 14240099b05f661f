// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A ring of race records in memory that a program shares with its reporter, the process that delivers them.
// Both worlds: no libc, no allocation; the system calls that wait and wake are the callers'.
//
// One writer at a time (the program, under a lock of its own) and one reader (the reporter). Positions count
// bytes and only grow:
//
//     tail <= head <= tail + bytes        position p lies at data[p % bytes]
//
//   head   written by the program, with release, when a record is whole
//   tail   written by the reporter, with release, when a record is delivered and counted
//
// A record never wraps: if the end of the data is too near, a header without texts fills the rest. The
// program may damage the ring by a wild write. So the reader checks every length, and reads each header
// once.
#ifndef RB_BASE_REPORT_RING_H
#define RB_BASE_REPORT_RING_H

#include "base/types.h"

#define RB_RING_MAGIC  0x52425231u // "RBR1": both sides are of one build, or agree
#define RB_RING_CAUSES 1024u       // power of two
#define RB_RING_ALIGN  16u

enum rb_ring_state { RB_RING_OPEN, RB_RING_ENDED, RB_RING_GONE };

// A cause of races that was shown, and its other places since then.
struct rb_ring_cause {
    uint64_t cause; // 0: free
    uint64_t id;    // of the race that was shown
    uint32_t places, said;
};

// Outcomes of the records. Each record has one of them; a record without one was not understood, and was
// printed as plain text.
struct rb_ring_counts {
    uint64_t shown;  // with names
    uint64_t places; // of a cause that was shown
    uint64_t hidden; // beyond max_reports
    uint64_t suppressed;
    uint64_t plain;   // shown without names
    uint64_t partial; // of those shown, places and hidden: known by partial evidence
    uint64_t hidden_said;
};

struct rb_ring {
    uint32_t magic;
    uint32_t pid;   // of the program
    uint64_t bytes; // of data

    // Written by the program.
    uint64_t head;
    uint32_t news;    // a futex, counts records
    uint32_t ending;  // the reporter is to end when the ring is empty
    uint32_t stays;   // it must not end before the program does: it could not be started again
    uint32_t waiting; // a thread waits in `turns`

    // Written by the reporter.
    uint64_t tail;
    uint32_t turns;    // a futex, counts the records taken
    uint32_t sleeping; // it waits in `news`
    uint32_t state;    // enum rb_ring_state; ENDED becomes GONE if the program puts in a record
    uint32_t
        owner; // the reporter's thread id, 0 before it works; a robust futex: the kernel notes its end there
    struct rb_ring_counts counts;
    struct rb_ring_cause causes[RB_RING_CAUSES];

    char data[] __attribute__((aligned(RB_RING_ALIGN)));
};

struct rb_ring_head {
    uint32_t size;          // of header and texts, a multiple of RB_RING_ALIGN
    uint32_t record, plain; // bytes of the JSON line and of the text for people; 0 and 0: filler
    uint32_t number;        // of the record
};
_Static_assert(sizeof(struct rb_ring_head) == RB_RING_ALIGN, "a header fills one unit of the ring");

struct rb_ring_view {
    const char *record, *plain;
    uint32_t record_bytes, plain_bytes, size;
};

static inline void rb_ring_copy(char *to, const char *from, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        ((volatile char *)to)[i] = from[i]; // volatile: must not become a call of memcpy
}

// Makes a ring of zeroed memory; `size` is the size of all of it.
static inline void rb_ring_init(struct rb_ring *r, uint64_t size, uint32_t pid)
{
    r->pid = pid;
    r->bytes = (size - sizeof(*r)) & ~(uint64_t)(RB_RING_ALIGN - 1);
    r->magic = RB_RING_MAGIC;
}

static inline uint64_t rb_ring_pending(const struct rb_ring *r)
{
    return rb_load_acquire(&r->head) - rb_load_acquire(&r->tail);
}

static inline struct rb_ring_head *rb_ring_at(struct rb_ring *r, uint64_t position)
{
    return (struct rb_ring_head *)(void *)(r->data + position % r->bytes);
}

// Returns true if the texts can never fit the ring, not even an empty one.
static inline bool rb_ring_too_long(const struct rb_ring *r, uint64_t record, uint64_t plain)
{
    return record + plain + 2 * RB_RING_ALIGN > r->bytes / 2;
}

// Adds a record. Returns false if there is no room now. The caller wakes the reporter if it sleeps.
static inline bool rb_ring_put(struct rb_ring *r, const char *record, uint32_t record_bytes,
                               const char *plain, uint32_t plain_bytes)
{
    const uint64_t size = (sizeof(struct rb_ring_head) + record_bytes + plain_bytes + RB_RING_ALIGN - 1) &
                          ~(uint64_t)(RB_RING_ALIGN - 1);
    uint64_t head = r->head;
    const uint64_t left = r->bytes - head % r->bytes, filler = left < size ? left : 0;

    if (rb_ring_pending(r) + filler + size > r->bytes)
        return false;
    if (filler) {
        *rb_ring_at(r, head) = (struct rb_ring_head){(uint32_t)filler, 0, 0, 0};
        head += filler;
    }
    struct rb_ring_head *h = rb_ring_at(r, head);
    *h = (struct rb_ring_head){(uint32_t)size, record_bytes, plain_bytes, r->news + 1};
    rb_ring_copy((char *)(h + 1), record, record_bytes);
    rb_ring_copy((char *)(h + 1) + record_bytes, plain, plain_bytes);
    rb_store_seq_cst(&r->head, head + size);
    rb_fetch_add_seq_cst(&r->news, 1);
    return true;
}

// Returns the oldest record in `view`: 1; 0 if there is none; -1 if the ring is damaged. Then all its
// contents are dropped.
static inline int rb_ring_look(struct rb_ring *r, uint64_t bytes, struct rb_ring_view *view)
{
    for (;;) {
        const uint64_t tail = r->tail, pending = rb_load_acquire(&r->head) - tail;
        if (pending == 0)
            return 0;
        const bool inside = pending <= bytes && tail % RB_RING_ALIGN == 0;
        const struct rb_ring_head h =
            *(volatile struct rb_ring_head *)(void *)(r->data + (inside ? tail % bytes : 0));
        if (!inside || h.size < sizeof(h) || h.size % RB_RING_ALIGN || h.size > pending ||
            h.size > bytes - tail % bytes || (uint64_t)h.record + h.plain > h.size - sizeof(h)) {
            rb_store_release(&r->tail, tail + pending);
            return -1;
        }
        if (h.record || h.plain) {
            const char *texts = r->data + tail % bytes + sizeof(h);
            *view = (struct rb_ring_view){texts, texts + h.record, h.record, h.plain, h.size};
            return 1;
        }
        rb_store_release(&r->tail, tail + h.size);
    }
}

// Frees the room of the record. The caller wakes the threads that wait for room.
static inline void rb_ring_taken(struct rb_ring *r, const struct rb_ring_view *view)
{
    rb_store_seq_cst(&r->tail, r->tail + view->size);
    rb_fetch_add_seq_cst(&r->turns, 1);
}

// Copies the state that outlives a reporter, and the records it left, into a new ring that is not smaller.
static inline void rb_ring_inherit(struct rb_ring *to, struct rb_ring *from)
{
    struct rb_ring_view view;

    to->counts = from->counts;
    for (unsigned i = 0; i < RB_RING_CAUSES; i++)
        to->causes[i] = from->causes[i];
    while (rb_ring_look(from, from->bytes, &view) > 0) {
        rb_ring_put(to, view.record, view.record_bytes, view.plain, view.plain_bytes);
        rb_ring_taken(from, &view);
    }
}

// Returns the entry of a cause, created if it is new; NULL if there is no room for it.
static inline struct rb_ring_cause *rb_ring_cause(struct rb_ring *r, uint64_t cause)
{
    uint32_t i = (uint32_t)cause & (RB_RING_CAUSES - 1);

    for (uint32_t n = 0; n < RB_RING_CAUSES / 4 * 3; n++, i = (i + 1) & (RB_RING_CAUSES - 1)) {
        struct rb_ring_cause *c = &r->causes[i];
        if (!c->cause)
            c->cause = cause;
        if (c->cause == cause)
            return c;
    }
    return NULL;
}

#endif
