// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Converts a raw recording (trace/raw/raw.h) into a trace. The events of all threads get one order, which
// is a possible order of the execution (docs/explanation/recording.md has the proof). Memory becomes variables,
// addresses become objects, code becomes locations.
//
// Two passes over the recording. Memory grows with the memory and the objects that were used, and with the
// threads that ran at once, not with the number of events. The trace is always well-formed: events that
// would not be (a lock taken before the recording began) become events with the same order, and are
// counted.
#ifndef RB_LAB_RECORD_MERGE_H
#define RB_LAB_RECORD_MERGE_H

#include "trace/raw/raw_reader.h"

// Names of code and data, from a reader of debugging information. Each function fills `name` (of `room`
// bytes) or returns false. `offset` is an address in the module's file; for code it is a return address.
struct rb_merge_names {
    void *context;
    bool (*code)(void *context, const struct rb_raw_module *m, uint64_t offset, char *name, size_t room);
    bool (*function)(void *context, const struct rb_raw_module *m, uint64_t offset, char *name, size_t room);
    bool (*data)(void *context, const struct rb_raw_module *m, uint64_t offset, char *name, size_t room);
};

struct rb_merge_notes {
    uint64_t events, accesses; // of the trace
    uint64_t recorded;         // accesses of the program
    uint64_t threads;          // threads that ran, including fibers and stand-ins for fences
    uint64_t running;          // of them running when the recording ended
    uint64_t holes;            // numbers that were taken but not written
    uint64_t unmatched;        // releases without their acquire: become posts
    uint64_t overlapping;      // acquires of locks held elsewhere: become waits
    uint64_t tail;             // atomic accesses left out because the operation that orders them is missing
    uint64_t reused;           // threads that had to share a number with one that had ended
};

// Writes the trace at `path`. Returns 0, or a negative errno with `e`, and then leaves no file at `path`.
int rb_merge(const struct rb_raw *raw, const char *path, const struct rb_merge_names *names,
             struct rb_merge_notes *notes, rb_progress_fn progress, void *context, struct rb_error *e);

#endif
