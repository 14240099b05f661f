// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The state of WCP, shared by the event handling (wcp.c), rule (a) (wcp_sections.c) and rule (b)
// (wcp_queue.c). Private to predict/. docs/explanation/engines.md defines the relation and proves that the clocks
// compute it.
//
//   n_t   base.epoch: t's local time
//   h_t   H_t: h[u] is the highest time of u that happens before t's next event
//   p_t   P_t: the same by rules (a) to (c)
//   c_t   C_t: the same by these or by program order; p <= c <= h entry by entry. The access check compares
//         with c
#ifndef RB_LAB_PREDICT_WCP_H
#define RB_LAB_PREDICT_WCP_H

#include "engine/access_history.h"
#include "lab/predict/handover.h"
#include "lab/predict/predict.h"

// ---- rule (a): sections --------------------------------------------------------------------------------

// Sections of one thread that read-locked a lock and used a variable.
struct wcp_reader {
    struct wcp_reader *next;
    uint32_t thread;
    uint32_t touched;               // by the section that is open now
    struct rb_handover wrote, read; // H at the end of the last one that wrote or read
};

enum { WCP_READ = 1, WCP_WROTE = 2 };

// Sections of one lock that used one variable. Those that write-lock it are ordered by happens-before, so
// the H of the last one includes the earlier ones. Two are kept: the second is for the thread of the first,
// because a section does not conflict with those of its own thread.
struct wcp_pair {
    uint64_t lock, variable;
    // The last, and the last of another thread than that. A section that wrote is not in `read`.
    struct rb_handover wrote[2], read[2];
    struct wcp_reader *readers; // one a thread
    uint32_t touched;           // by the section that is open now, if it write-locks
};

struct wcp_section { // a section that a thread is in
    uint64_t lock;
    uint32_t depth; // number of nested acquires of the lock
    uint32_t begun; // n_t at the acquire
    bool reading;
    struct wcp_pair *last; // found by the last lookup; NULL: none yet
    // Pairs (readers, if it is reading) with `touched` set by this section.
    union {
        struct wcp_pair **pairs;
        struct wcp_reader **readers;
        void **touched;
    };
    uint32_t count, room;
};

struct wcp_table { // of pairs, by hash
    struct wcp_slot {
        uint32_t tag, index; // of the pair, from 1; 0: empty
    } * slots;
    uint64_t capacity; // a power of two
    struct wcp_pair **chunks;
    uint32_t count, chunk_room;
};

// ---- rule (b): queues ----------------------------------------------------------------------------------

struct wcp_entry { // a section that has ended
    struct rb_handover release;
    uint32_t begun;
};

// Sections in an order in which each one's acquire happens before the next one's.
struct wcp_queue {
    struct wcp_entry *entries; // a ring
    struct wcp_place {         // [thread]; NULL: the queue was always empty
        uint64_t next;         // number of the first entry that the thread has not consumed
        uint32_t hard;         // its count of program order edges at its last visit
    } * places;
    uint64_t first, end; // numbers of the entries kept
    uint64_t leak;       // number + 1 of the last section that an edge of program order left; 0: none
    uint32_t room;       // a power of two, or 0
};

// ---- everything ----------------------------------------------------------------------------------------

struct wcp_object {
    struct rb_handover last;             // H of the last write section, or of the last event that releases
    struct rb_snapshot *last_p, *last_c; // its P; its C, for an object that is no lock
    struct rb_since since;               // read sections, or events that only acquire, after `last`
    struct wcp_queue writes;
    struct wcp_queue **reads; // [thread], NULL where a thread has none; NULL: no thread has
};

struct wcp_thread {
    struct rb_thread base; // its clock is c
    uint32_t *h, *p, *c;   // NULL before its first event
    // NULL: none since the last change. That of C may lack entries of P: the two go together.
    struct rb_snapshot *copy_h, *copy_p, *copy_c;
    bool handed;
    uint32_t hard;                // number of program order edges from other threads
    uint32_t handed_by;           // n_t when the last such edge left t; 0: none
    struct wcp_section *sections; // outermost first
    uint32_t depth, room;
};

struct wcp {
    struct rb_predict_world world;
    struct rb_clocks clocks;
    struct rb_engine engine; // for the access history
    struct wcp_thread *threads;
    struct wcp_object *objects;
    struct rb_cell *cells;
    struct wcp_table table;
    uint64_t now; // number of the current event
};

// Computes P_t := max(P_t, H of the release). Returns true if P_t changed.
bool wcp_learn_p(struct wcp *, struct wcp_thread *, const struct rb_handover *);
// Hands H_t over, with n_t. Returns 0 or -ENOMEM, as do the functions below.
int wcp_hand_over(struct wcp *, struct wcp_thread *, struct rb_handover *);

// Applies rule (a) to an access inside of sections, and records it in each of them.
int wcp_sections_access(struct wcp *, struct wcp_thread *, uint64_t variable, bool write);
// Ends a section: hands its uses to later sections.
int wcp_section_end(struct wcp *, struct wcp_thread *, struct wcp_section *);

// Returns the section of the lock that t is in, or NULL.
struct wcp_section *wcp_section_of(const struct wcp_thread *t, uint64_t lock);

// Applies rule (b) to a section of t that is about to end, or that program order is about to leave. Returns
// true if P_t changed. wcp_queue_add adds the entry of a section that has ended.
bool wcp_queue_consume(struct wcp *, struct wcp_thread *, const struct wcp_section *);
int wcp_queue_add(struct wcp *, struct wcp_thread *, struct wcp_object *, const struct wcp_section *);

#endif
