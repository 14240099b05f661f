// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The output side of the merge: takes the events in their order and writes them. Numbers threads, locks,
// variables, locations and functions as they appear, and names them at the end. Tool side.
#ifndef RB_LAB_RECORD_MERGE_OUT_H
#define RB_LAB_RECORD_MERGE_OUT_H

#include "lab/record/merge.h"
#include "lab/record/merge_memory.h"
#include "trace/lock_check.h"
#include "trace/writer.h"

struct rb_out_lock {
    uint64_t address;
    struct rb_lock_state held;
    bool read; // the trace has a read-unlock of it
};

// A number of the trace after the end of its thread, at its `uses`-th use.
struct rb_out_idle {
    uint32_t number, uses;
};

struct rb_out_idles {
    struct rb_out_idle *entry;
    uint64_t first, count, room; // [first, count) are in use
};

struct rb_out_thread {    // a thread of the recording, by index
    uint32_t id;          // in the runtime
    uint32_t number;      // in the trace, + 1; 0: none yet
    uint32_t use;         // use of the number
    uint32_t depth, room; // open functions
    uint32_t *open;
    struct rb_out_idles joined; // numbers of threads that it joined
};

struct rb_out {
    const struct rb_raw *raw;
    const struct rb_merge_names *names;
    struct rb_merge_notes *notes;
    struct rb_error *error;
    struct rb_writer writer;
    bool out_of_memory;

    struct rb_memory memory;
    struct rb_out_thread *thread;
    uint32_t threads, thread_room;
    struct rb_id_map thread_of; // id -> index

    struct {
        bool used, idle; // has events or was forked; its thread has ended
        uint32_t uses;
        uint32_t owner; // index of its first owner
    } * number;
    uint32_t numbers;
    struct rb_out_idles idle; // all ended threads, the earliest first

    struct rb_id_map object_of; // address -> object
    uint32_t *lock_of;          // for each object its current lock + 1; 0: none
    uint64_t lock_room, object_room, locks;
    struct rb_out_lock *lock;
    struct rb_lock_table readers;

    struct rb_id_map location_of, function_of; // place -> number (locations: from 1 on)
    uint64_t *place, *function;
    uint64_t place_room, function_room;
};

int rb_out_open(struct rb_out *o, const struct rb_raw *raw, const char *path,
                const struct rb_merge_names *names, struct rb_merge_notes *notes, struct rb_error *e);
// Returns the index of the thread with that id, added if necessary; UINT32_MAX when memory is out.
uint32_t rb_out_thread(struct rb_out *o, uint32_t id);

// Writes one event of thread `t`. LOAD and RMW may come with the atomic access they order.
void rb_out_event(struct rb_out *o, uint32_t t, const struct rb_raw_event *event,
                  const struct rb_raw_event *access);
// Ends a thread: its number may be used again if numbers run out.
void rb_out_thread_done(struct rb_out *o, uint32_t t);

int rb_out_finish(struct rb_out *o);
// Releases the output, after a failure as well as after rb_out_finish.
void rb_out_close(struct rb_out *o);

#endif
