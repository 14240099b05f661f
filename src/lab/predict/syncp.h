// The parts of SyncP (Mathur, Pavlogiannis and Viswanathan, 2021) and what they share. Tool side, one thread.
//
//   syncp.c        events in, order edges, collection of what nobody needs any more
//   syncp_past.c   what a thread did: its clock at any past event, its critical sections, whose turn a lock
//   was syncp_ideal.c  the smallest set of events that a reordering must have to put two events next
//   syncp_races.c  the accesses of each variable and which of them each thread has still to fear
//
// The nouns:
//   time      a thread's n-th event has time n; 0 is before the first. Being forked counts as an event
//   clock     of an event: for each other thread u the last time of u that thread order, reads-from, fork,
//   join and the
//             order of objects (R5) put before it. Sections of locks put nothing in it. The entry of its own
//             thread means nothing
//   version   a clock and the time from which the thread has it. A thread's clock only grows, seldom, and
//   each state
//             is kept: any past event can be asked
//   stretch   a part of a thread in which its clock does not change and no section begins
//   turn      consecutive sections of one lock by one thread in the same mode
//   ideal     a set of events that has with each event all before it in its thread: as a clock, one time a
//   thread
#ifndef RB_LAB_PREDICT_SYNCP_H
#define RB_LAB_PREDICT_SYNCP_H

#include "lab/predict/handover.h"
#include "lab/predict/predict.h"

#define SYNCP_NONE   UINT32_MAX
#define SYNCP_SHARED (1u << 31) // beside the number of a lock or thread: to read

struct syncp_version {
    uint32_t *clock;
    uint32_t from;
};

struct syncp_section {
    uint32_t acquired, released; // times; released is SYNCP_NONE while it is open
    uint32_t lock;               // | SYNCP_SHARED
    uint32_t turn;
    uint32_t outer; // the section open when this one began that began last, or SYNCP_NONE
};

struct syncp_held {
    uint32_t section;
    uint32_t lock; // | SYNCP_SHARED
    uint32_t depth;
};

struct syncp_thread {
    uint32_t time;         // of its last event; never 2^31
    uint32_t stretch;      // number
    const uint32_t *clock; // that of the last version
    bool over;             // joined
    bool seen;             // had an event, or was forked
    uint32_t versions, versions_room, sections, sections_room, held, held_room;
    struct syncp_version *version; // never empty once seen
    struct syncp_section *section;
    struct syncp_held *holds; // open sections, the one that began last at the end
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
    uint32_t *since;       // of each thread the last event that did not release, after the last that did
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
    // Every future ideal has at least these times (syncp.c): what lies before is never looked at again.
    uint32_t *floor;
    uint32_t *scratch;   // an ideal that is not kept
    uint64_t kept_bytes; // of ideals
    uint64_t until_collect;
    uint32_t unseen;    // threads
    bool unseen_forked; // the trace has a fork for each
    bool collected;     // the floor is not 0 everywhere
};

// Set by tests to go where small traces do not.
struct syncp_tuning {
    uint64_t collect_every; // events, or a part of T^2 if that is more
    uint32_t few_turns;     // of a lock, for each user of it: looked at one by one
    uint32_t ideals;        // kept may take one part in so many of the memory
};
extern struct syncp_tuning rb_syncp_tuning;

// The items with room for one more behind `count`: where they were, or moved. NULL when memory is out.
void *rb_syncp_room(struct syncp *p, void *items, uint32_t count, uint32_t *room, size_t item_bytes);
#define SYNCP_ROOM(p, items, count, room) \
    (((items) = rb_syncp_room(p, items, count, &(room), sizeof((items)[0]))) != NULL)

// syncp_past.c. The clock of t's event at `time`.
const uint32_t *rb_syncp_clock(const struct syncp_thread *t, uint32_t time);
// t knows from its event at `time`, its last or next, what `clock` says and that of `thread` as far as
// `learnt`.
int rb_syncp_learn(struct syncp *p, struct syncp_thread *t, uint32_t time, const uint32_t *clock,
                   uint32_t thread, uint32_t learnt);
// The same of all that a clock says.
int rb_syncp_raise(struct syncp *p, struct syncp_thread *t, uint32_t time, const uint32_t *clock);
// Outermost and inner acquires and releases of a lock, by the thread's last event.
int rb_syncp_acquire(struct syncp *p, uint32_t thread, uint32_t lock, bool shared);
void rb_syncp_release(struct syncp *p, uint32_t thread, uint32_t lock, bool shared);
// Has a section that excludes this one of `thread`, and begins later in the trace, begun in the ideal?
bool rb_syncp_overtaken(const struct syncp *p, const struct syncp_section *s, uint32_t thread,
                        const uint32_t *ideal);
// The last section of t that begins at `time` or before, or SYNCP_NONE.
uint32_t rb_syncp_section_at(const struct syncp_thread *t, uint32_t time);
// Forgets the versions that no event from `floor` on has.
void rb_syncp_forget(struct syncp *p, struct syncp_thread *t, uint32_t floor);

// syncp_ideal.c. Adds to the ideal all that puts thread t right behind its event at `time`.
void rb_syncp_reach(const struct syncp *p, uint32_t *ideal, uint32_t thread, uint32_t time);
// Adds what the locks ask for. May stop early when `thread` has come to `time`: says whether it has.
bool rb_syncp_complete(const struct syncp *p, uint32_t *ideal, uint32_t thread, uint32_t time);

// syncp_races.c. The next event of the thread accesses the variable: is it the second side of a race? 0 or
// -ENOMEM.
int rb_syncp_check(struct syncp *p, uint32_t thread, struct syncp_variable *v, bool write,
                   struct rb_partner *partner);
// The next event of the thread accesses the variable: to be remembered. 0 or -ENOMEM.
int rb_syncp_record(struct syncp *p, uint32_t thread, struct syncp_variable *v, bool write,
                    uint64_t where);

struct syncp_candidate {
    uint64_t where;
    uint32_t thread, time, stretch;
    uint32_t lock;  // of the innermost section around it, | SYNCP_SHARED, or SYNCP_NONE
    uint32_t outer; // the section around that, or SYNCP_NONE: look further there
};

// The accesses of one kind to a variable, in trace order.
struct syncp_list {
    struct syncp_candidate *item;
    uint32_t count, room;
    uint32_t only;   // the thread that all are of, or SYNCP_NONE
    uint32_t judged; // no thread has come further, its own accesses at the end aside
};

// The ideal of a thread and another at a variable: grows with every question.
struct syncp_kept {
    struct syncp_kept *next;
    uint32_t thread; // the other
    uint32_t kind;   // of its access
    uint32_t pad[12];
    uint32_t ideal[];
};
_Static_assert(sizeof(struct syncp_kept) == 64, "the ideal is aligned like a clock");

// How far a thread has judged the accesses of a variable; by kind: reads, writes.
struct syncp_view {
    struct syncp_kept *kept;
    uint32_t cursor[2];   // what comes before it is behind the thread for good
    uint32_t raced_in[2]; // the stretch in which what is there was last found to race, or SYNCP_NONE
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
