// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A base trace in the form that moves its events: the constraint class of each event (docs/explanation/reordering.md),
// and the one other event it is tied to. Made once for a base, then read by all workers. Tool side.
//
// Some locks count as ordered objects, so that all their events keep their order:
//   - locks that the base itself uses against R3 (a release without acquire, sections that overlap);
//   - locks that a thread holds to read and to write at once;
//   - locks that are also used as another kind of object.
// The restriction is never wrong, only less free.
#ifndef RB_LAB_INJECT_MODEL_H
#define RB_LAB_INJECT_MODEL_H

#include "trace/reader.h"

#define RB_NO_EVENT UINT32_MAX

enum rb_class {
    RB_CLASS_QUIET,  // belongs to its thread alone; also inner acquires and releases of a lock
    RB_CLASS_READ,   // tie: the write it sees
    RB_CLASS_WRITE,  //
    RB_CLASS_TAKE,   // outermost acquire; tie: its release
    RB_CLASS_GIVE,   // its release; tie: the acquire
    RB_CLASS_RTAKE,  // the same for read-locks
    RB_CLASS_RGIVE,  //
    RB_CLASS_LOOK,   // event of an ordered object that does not release
    RB_CLASS_SIGNAL, // event that releases, or any event of an object with all events in order
    RB_CLASS_THREAD  // fork or join
};

struct rb_model {
    const struct rb_event *base;
    uint32_t count; // of the base; numbers count and count + 1 are the pair
    uint64_t threads, locks, variables;
    uint8_t *class;        // [count + 2]; the pair, alone on its variable, is RB_CLASS_QUIET
    uint32_t *tie;         // [count + 2]; RB_NO_EVENT: none
    uint32_t *readers;     // [count + 2]: number of reads that see this write
    uint32_t *thread_list; // events of thread t, in order: from thread_start[t] to thread_start[t + 1]
    uint32_t *thread_start;
    uint32_t *thread_index; // [count]: index of an event in its thread
    uint32_t *points;       // i: the thread changes between event i and i + 1
    uint32_t point_count;
    uint64_t sections; // outermost sections of locks that are not ordered objects
};

int rb_model_make(struct rb_model *m, const struct rb_events *base, struct rb_error *e);
void rb_model_free(struct rb_model *m);

static inline bool rb_class_takes(uint8_t class)
{
    return class == RB_CLASS_TAKE || class == RB_CLASS_RTAKE;
}

static inline bool rb_class_gives(uint8_t class)
{
    return class == RB_CLASS_GIVE || class == RB_CLASS_RGIVE;
}

// An order of the events of the base and the pair, and the place of each event in it.
struct rb_order {
    const struct rb_model *model;
    uint32_t *event;    // [count + 2]: the event at each place
    uint32_t *place;    // [count + 2]: its inverse
    uint32_t count;     // count of the model + 2
    uint32_t thread[2]; // of the pair
    uint32_t slot[2];   // number of events of its thread before each event of the pair
};

// Puts the pair side by side at a point: the first event in the thread of event `point`, the second in the
// thread of the next event.
void rb_order_start(struct rb_order *o, const struct rb_model *m, uint32_t point);
bool rb_order_alloc(struct rb_order *o, const struct rb_model *m); // false: memory is out
void rb_order_free(struct rb_order *o);
void rb_order_copy(struct rb_order *to, const struct rb_order *from);

static inline uint32_t rb_order_thread(const struct rb_order *o, uint32_t event)
{
    const uint32_t n = o->model->count;

    return event < n ? o->model->base[event].thread : o->thread[event - n];
}

// Returns the number of events between the pair.
static inline uint32_t rb_order_distance(const struct rb_order *o)
{
    const uint32_t a = o->place[o->count - 2], b = o->place[o->count - 1];

    return (a < b ? b - a : a - b) - 1;
}

// Counts sections that come after a conflicting section of the same lock that they preceded in the base.
// Takes linear time. Returns 0 when memory is out.
uint32_t rb_order_reversed(const struct rb_order *o);

#endif
