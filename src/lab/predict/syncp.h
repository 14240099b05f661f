// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts of SyncP (Mathur, Pavlogiannis and Viswanathan, 2021) and their shared state. Tool side, one
// thread.
//
//   syncp.c         reads events, adds order edges, frees state that no thread can need
//   syncp_past.c    the past of a thread: its clock at any event, its critical sections, the turns of a
//                   lock
//   syncp_ideal.c   the smallest set of events that a reordering must contain to put two events next
//   syncp_races.c   the accesses of each variable, and those that each thread has still to check
//
// Definitions:
//   time      a thread's n-th event has time n; 0 is before the first. Being forked counts as an event
//   clock     of an event: for each other thread u the last time of u that thread order, reads-from, fork,
//             join and the order of objects (R5) put before it. Sections of locks add nothing to it. The
//             entry of its own thread has no meaning
//   version   a clock and the time from which the thread has it. A thread's clock only grows, seldom, and
//             each state is kept, so that the clock of any past event can be found
//   stretch   a part of a thread in which its clock does not change and no section begins
//   turn      consecutive sections of one lock by one thread in the same mode
//   ideal     a set of events that contains with each event all earlier ones of its thread: as a clock, one
//             time a thread
#ifndef RB_LAB_PREDICT_SYNCP_H
#define RB_LAB_PREDICT_SYNCP_H

#include "lab/predict/handover.h"
#include "lab/predict/predict.h"

#define SYNCP_NONE   UINT32_MAX
#define SYNCP_SHARED (1u << 31) // flag beside the number of a lock or thread: to read

struct syncp_version {
    uint32_t *clock;
    uint32_t from;
};

struct syncp_section {
    uint32_t acquired, released; // times; released is SYNCP_NONE while the section is open
    uint32_t lock;               // | SYNCP_SHARED
    uint32_t turn;
    uint32_t outer; // among the sections open at its beginning the one that began last, or SYNCP_NONE
};

struct syncp_held {
    uint32_t section;
    uint32_t lock; // | SYNCP_SHARED
    uint32_t depth;
};

struct syncp_thread {
    uint32_t time;         // of its last event; never 2^31
    uint32_t stretch;      // number of its current stretch
    const uint32_t *clock; // of the last version
    bool over;             // the thread was joined
    bool seen;             // it had an event, or was forked
    uint32_t versions, versions_room, sections, sections_room, held, held_room;
    struct syncp_version *version; // never empty once seen
    struct syncp_section *section;
    struct syncp_held *holds; // open sections; the one that began last is at the end
};

struct syncp_turn {
    uint32_t thread; // | SYNCP_SHARED
    uint32_t begins; // time of its first acquire
};

// The turns of one thread and mode at a lock.
struct syncp_user {
    uint32_t thread; // | SYNCP_SHARED
    uint32_t count, room;
    uint32_t *turn;
};

struct syncp_object {
    // A lock.
    struct syncp_turn *turn;
    struct syncp_user *user;
    uint32_t turns, turns_room, users, users_room;
    // Another object, or one that keeps the order of all its events.
    uint32_t *since;       // for each thread the last event that did not release, after the last that did
    const uint32_t *clock; // of the last event that released
    uint32_t releaser, released; // its thread and time; 0: none yet
    bool any_since;
};

struct syncp_variable;

struct syncp {
    struct rb_predict_world world;
    struct rb_clocks clocks;
    struct syncp_thread *threads;
    struct syncp_object **objects;
    struct syncp_variable **variables;
    // A lower bound of every future ideal (syncp.c): earlier times are never examined again.
    uint32_t *floor;
    uint32_t *scratch;   // an ideal that is not kept
    uint64_t kept_bytes; // of ideals
    uint64_t until_collect;
    uint32_t unseen;    // number of threads without an event so far
    bool unseen_forked; // the trace has a fork for each of them
    bool collected;     // the floor may be above 0
};

// Parameters that tests change to reach code that small traces do not.
struct syncp_tuning {
    uint64_t collect_every; // number of events, or a part of T^2 if that is more
    uint32_t few_turns;     // up to this many turns of a lock, for each of its users, are searched linearly
    uint32_t ideals;        // kept ideals may take one part in so many of the memory
};
extern struct syncp_tuning rb_syncp_tuning;

// Returns the items with room for one more behind `count`, moved if necessary; NULL when memory is out.
void *rb_syncp_room(struct syncp *p, void *items, uint32_t count, uint32_t *room, size_t item_bytes);
#define SYNCP_ROOM(p, items, count, room) \
    (((items) = rb_syncp_room(p, items, count, &(room), sizeof((items)[0]))) != NULL)

// syncp_past.c. Returns the clock of t's event at `time`.
const uint32_t *rb_syncp_clock(const struct syncp_thread *t, uint32_t time);
// Adds to t's clock at its event at `time`, its last or next, the entries of `clock` and time `learnt` of
// `thread`.
int rb_syncp_learn(struct syncp *p, struct syncp_thread *t, uint32_t time, const uint32_t *clock,
                   uint32_t thread, uint32_t learnt);
// Adds all entries of a clock in the same way.
int rb_syncp_raise(struct syncp *p, struct syncp_thread *t, uint32_t time, const uint32_t *clock);
// Applies an acquire or a release of a lock, outermost or inner, as the thread's last event.
int rb_syncp_acquire(struct syncp *p, uint32_t thread, uint32_t lock, bool shared);
void rb_syncp_release(struct syncp *p, uint32_t thread, uint32_t lock, bool shared);
// Returns true if a section that excludes this one of `thread`, and begins later in the trace, has begun in
// the ideal.
bool rb_syncp_overtaken(const struct syncp *p, const struct syncp_section *s, uint32_t thread,
                        const uint32_t *ideal);
// Returns the last section of t that begins at `time` or before, or SYNCP_NONE.
uint32_t rb_syncp_section_at(const struct syncp_thread *t, uint32_t time);
// Frees the versions that are older than those of the events from `floor` on.
void rb_syncp_forget(struct syncp *p, struct syncp_thread *t, uint32_t floor);

// syncp_ideal.c. Adds the events that put thread t right behind its event at `time`.
void rb_syncp_reach(const struct syncp *p, uint32_t *ideal, uint32_t thread, uint32_t time);
// Adds the events that locks require. May stop early when `thread` has reached `time`; returns true if it
// has.
bool rb_syncp_complete(const struct syncp *p, uint32_t *ideal, uint32_t thread, uint32_t time);

// syncp_races.c. Checks if the thread's next event, an access to the variable, is the second side of a
// race. Returns 0 or -ENOMEM.
int rb_syncp_check(struct syncp *p, uint32_t thread, struct syncp_variable *v, bool write,
                   struct rb_partner *partner);
// Records the thread's next event as an access to the variable. Returns 0 or -ENOMEM.
int rb_syncp_record(struct syncp *p, uint32_t thread, struct syncp_variable *v, bool write, uint64_t where);

struct syncp_candidate {
    uint64_t where;
    uint32_t thread, time, stretch;
    uint32_t lock;  // of the innermost section around it, | SYNCP_SHARED, or SYNCP_NONE
    uint32_t outer; // the section around that, where a search continues, or SYNCP_NONE
};

// The accesses of one kind to a variable, in trace order.
struct syncp_list {
    struct syncp_candidate *item;
    uint32_t count, room;
    uint32_t only;   // the thread of all accesses, or SYNCP_NONE
    uint32_t judged; // the furthest that a thread has judged, its own accesses at the end aside
};

// The ideal of a thread and another one at a variable. It grows with every query.
struct syncp_kept {
    struct syncp_kept *next;
    uint32_t thread; // the other thread
    uint32_t kind;   // of its access
    uint32_t pad[12];
    uint32_t ideal[];
};
_Static_assert(sizeof(struct syncp_kept) == 64, "the ideal is aligned like a clock");

// The progress of a thread in judging the accesses of a variable; by kind: reads, writes.
struct syncp_view {
    struct syncp_kept *kept;
    uint32_t cursor[2];   // accesses before it are behind the thread for good
    uint32_t raced_in[2]; // the stretch of the last race with the access at the cursor, or SYNCP_NONE
};

struct syncp_variable {
    const uint32_t *clock;    // of the last write
    uint32_t writer, written; // its thread and time; 0: none yet
    struct syncp_list list[2];
    struct syncp_view *view;
    uint32_t *viewer; // the threads the views belong to
    uint32_t views, views_room, viewers_room;
};

#endif
