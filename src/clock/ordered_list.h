// The ordered list of the SO engine (Efficient Timestamping, algorithm 4): a vector clock that remembers in
// which order its entries last changed, so that a reader who knows all but the last d changes looks at the
// first d nodes and no others.
//
// One block of memory: `time[slot]` dense (the access check reads it like any clock, and when d is large the
// rising entries are found by comparing 4 entries an instruction instead of following links), then the links
// of a circular doubly linked list, 16 bits each, with node `size` as its head. Nodes never set have time 0
// and stay behind all others.
//
// Shared by reference count: a list that more than one holder refers to is immutable; its owner copies it
// before a change (rb_olist_own). Invariants, checked by rb_olist_check:
//   every slot is on the circle exactly once;  next[prev[x]] == x == prev[next[x]];
//   no node of time 0 stands before one that was set.
#ifndef RB_CLOCK_ORDERED_LIST_H
#define RB_CLOCK_ORDERED_LIST_H

#include "base/arena.h"
#include "base/types.h"

struct rb_olist {
    uint32_t refs;
    uint32_t size; // slots, a multiple of 16, below 65536
    uint32_t pad[14];
    uint32_t time[];
    // uint16_t next[size + 1], prev[size + 1], as one {next, prev} pair a node
};

struct rb_olist_link {
    uint16_t next, prev;
};

RB_INLINE struct rb_olist_link *rb_olist_links(const struct rb_olist *l)
{
    return (struct rb_olist_link *)(uintptr_t)(l->time + l->size);
}

RB_INLINE uint32_t rb_olist_get(const struct rb_olist *l, uint32_t slot)
{
    return slot < l->size ? l->time[slot] : 0;
}

// All zero, one reference; NULL when memory is out. At most 65,520 slots.
struct rb_olist *rb_olist_new(struct rb_arena *a, uint32_t slots);

RB_INLINE void rb_olist_ref(struct rb_olist *l)
{
    l->refs++;
}

void rb_olist_unref(struct rb_arena *a, struct rb_olist *l);

// Makes *l the caller's alone, with room for `slots`; *copied says whether that took a copy. False when
// memory is out (nothing changed).
bool rb_olist_own(struct rb_arena *a, struct rb_olist **l, uint32_t slots, bool *copied);

// Sets an entry and moves it to the front. The caller owns the list and slot < size.
RB_INLINE void rb_olist_set(struct rb_olist *l, uint32_t slot, uint32_t time)
{
    // Two 16-bit loads, never one of 32: the halves were stored separately a moment ago.
    volatile struct rb_olist_link *const link = rb_olist_links(l);
    const uint16_t head = (uint16_t)l->size;
    const uint16_t prev = link[slot].prev, next = link[slot].next;

    l->time[slot] = time;
    if (prev == head)
        return;
    link[prev].next = next;
    link[next].prev = prev;
    const uint16_t first = link[head].next;
    link[slot].next = first;
    link[slot].prev = head;
    link[first].prev = (uint16_t)slot;
    link[head].next = (uint16_t)slot;
}

// Bit i of the result: seen->time[from + i] > have->time[from + i], for 64 slots from `from` (a multiple of
// 16; fewer at the end of `seen`). Slots that `have` has no room for count as 0.
uint64_t rb_olist_rising(const struct rb_olist *have, const struct rb_olist *seen, uint32_t from);

bool rb_olist_check(const struct rb_olist *l);

#endif
