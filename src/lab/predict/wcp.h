// The state of WCP, shared by the meaning of each event (wcp.c), rule (a) (wcp_sections.c) and rule (b)
// (wcp_queue.c). Private to predict/. docs/engines.md has the relation and why the clocks compute it.
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
    struct rb_handover wrote, read; // H at the end of the last one that did
};

enum { WCP_READ = 1, WCP_WROTE = 2 };

// Sections of one lock that used one variable. Those that hold it to write are ordered by happens-before, so
// that the H of the last one has those before it; of the two kept the second is for the thread of the first,
// because a section does not conflict with those of its own thread.
struct wcp_pair {
    uint64_t lock, variable;
    // The last, and the last of another thread than that. Not in `read` if it wrote.
    struct rb_handover wrote[2], read[2];
    struct wcp_reader *readers; // one a thread
    uint32_t touched;           // by the section that is open now, if it holds the lock to write
};

struct wcp_section { // that a thread is in
    uint64_t lock;
    uint32_t depth; // of acquires of the lock
    uint32_t begun; // n_t at the acquire
    bool reading;
    struct wcp_pair *last; // looked up; NULL: none yet
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
    struct wcp_place {         // [thread]; NULL: nothing was added yet
        uint64_t next;         // number of the first entry the thread has not consumed
        uint32_t hard;         // its count of edges of program order when it last looked
    } * places;
    uint64_t first, end; // numbers of the entries kept
    uint64_t leak;       // number of the last section that an edge of program order left, + 1; 0: none
    uint32_t room;       // a power of two, or 0
};

// ---- everything ----------------------------------------------------------------------------------------

struct wcp_object {
    struct rb_handover last;             // H of the last write section, or of the last event that releases
    struct rb_snapshot *last_p, *last_c; // and P; and C, of an object that is no lock
    struct rb_since since;               // read sections, or events that only acquire, since then
    struct wcp_queue writes;
    struct wcp_queue **reads; // [thread], NULL where a thread has none; NULL: no thread has
};

struct wcp_thread {
    struct rb_thread base; // its clock is c
    uint32_t *h, *p, *c;   // NULL before its first event
    // NULL: none made since the last change. That of C may lack what P has: the two go together.
    struct rb_snapshot *copy_h, *copy_p, *copy_c;
    bool handed;
    uint32_t hard;                // edges of program order from other threads, counted
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
    uint64_t now; // number of the event at hand
};

// P_t := max(P_t, H of the release). True if there was something to learn.
bool wcp_learn_p(struct wcp *, struct wcp_thread *, const struct rb_handover *);
// t hands H_t over, with n_t. 0 or -ENOMEM, as all that follow.
int wcp_hand_over(struct wcp *, struct wcp_thread *, struct rb_handover *);

// An access inside of sections: rule (a), and a note of it in each.
int wcp_sections_access(struct wcp *, struct wcp_thread *, uint64_t variable, bool write);
// The section ends: what it used is handed to later sections.
int wcp_section_end(struct wcp *, struct wcp_thread *, struct wcp_section *);

// The section of the lock that t is in, or NULL.
struct wcp_section *wcp_section_of(const struct wcp_thread *t, uint64_t lock);

// Rule (b) for a section of t that is about to end, or that program order is about to lead out of: true if
// there was something to learn. And its entry, when it has ended.
bool wcp_queue_consume(struct wcp *, struct wcp_thread *, const struct wcp_section *);
int wcp_queue_add(struct wcp *, struct wcp_thread *, struct wcp_object *,
                  const struct wcp_section *);

#endif
