// From a raw recording (trace/raw/raw.h) to a trace: the events of all threads in one order, which is one that
// happened (docs/recording.md has the proof), memory as variables, addresses as objects, code as locations.
//
// Two passes over the recording; memory grows with the memory and the objects that were used, and with the
// threads that ran at once, not with the number of events. What was written is always well-formed: events
// that would not be (a lock that was taken before the recording began) become ones that order the same, and
// are counted.
#ifndef RB_LAB_RECORD_MERGE_H
#define RB_LAB_RECORD_MERGE_H

#include "trace/raw/raw_reader.h"

// Names for code and data, from who can read debugging information. Each fills `name` (of `room` bytes) or
// returns false. `offset` is an address in the module's file; for code that where a call returns to.
struct rb_merge_names {
    void *context;
    bool (*code)(void *context, const struct rb_raw_module *m, uint64_t offset, char *name, size_t room);
    bool (*function)(void *context, const struct rb_raw_module *m, uint64_t offset, char *name, size_t room);
    bool (*data)(void *context, const struct rb_raw_module *m, uint64_t offset, char *name, size_t room);
};

struct rb_merge_notes {
    uint64_t events, accesses; // of the trace
    uint64_t recorded;         // accesses of the program
    uint64_t threads;          // that ran, fibers and what stands for fences included
    uint64_t running;          // of them when the recording ended
    uint64_t holes;            // numbers that were taken and whose events were not written
    uint64_t unmatched;        // releases without their acquire: become posts
    uint64_t overlapping;      // acquires of locks held elsewhere: become waits
    uint64_t tail;             // atomic accesses left out because what ordered them was not written
    uint64_t reused;           // threads that had to share a number with one that had ended
};

// Writes the trace at `path`. 0 or a negative errno with `e`; nothing is left at `path` then.
int rb_merge(const struct rb_raw *raw, const char *path, const struct rb_merge_names *names,
             struct rb_merge_notes *notes, rb_progress_fn progress, void *context, struct rb_error *e);

#endif
