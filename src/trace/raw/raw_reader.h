// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads raw recordings (trace/raw/raw.h): the list of chunks, and the events of each thread in order,
// through a small buffer each, so that memory does not grow with the recording. Every field is checked. A
// killed program leaves a sound file, but files get damaged and cut off. Tool side.
#ifndef RB_TRACE_RAW_RAW_READER_H
#define RB_TRACE_RAW_RAW_READER_H

#include "base/error.h"
#include "trace/raw/raw.h"

struct rb_raw_span { // a chunk's records
    uint64_t at;     // in the file
    uint32_t records;
    uint32_t thread; // index in rb_raw.thread
    uint32_t sequence;
    uint32_t os_id;
};

struct rb_raw_thread {
    uint32_t id;          // as the runtime numbers them
    uint32_t os_id;       // 0: no thread of its own
    uint32_t first, last; // of rb_raw.span, which is sorted by thread: [first, last)
    uint64_t records;
};

struct rb_raw {
    const char *path;
    int fd;
    struct rb_raw_header header;
    struct rb_raw_span *span;
    struct rb_raw_thread *thread;
    struct rb_raw_module *module;
    uint64_t records; // of all threads
    uint32_t spans, threads, modules;
};

// Opens a recording; `path` must stay valid. Returns 0 or a negative errno with `e`.
int rb_raw_open(struct rb_raw *r, const char *path, struct rb_error *e);
void rb_raw_close(struct rb_raw *r);
// Returns the module of a place, and the offset in it; NULL if the runtime did not know it.
const struct rb_raw_module *rb_raw_place(const struct rb_raw *r, uint64_t place, uint64_t *offset);

// One event, with the contents of its TICK, EXTENT and GENERATION.
struct rb_raw_event {
    uint64_t address; // or a thread's id
    uint64_t size;    // of accesses and FORGET, else 0
    uint64_t value;   // place or number
    uint64_t clock;
    uint64_t at; // in the file, for messages
    uint32_t generation;
    uint8_t op; // enum rb_op or enum rb_raw_op; never TICK, EXTENT or GENERATION
};

static inline bool rb_raw_is_access(unsigned op)
{
    return op <= RB_RAW_ATOMIC_WRITE;
}

#define RB_RAW_BUFFER 256u // records

struct rb_raw_cursor {
    uint32_t span, end;  // spans not read yet
    uint32_t taken;      // records of `span` that are in the buffer or behind it
    uint32_t next, held; // of the buffer
    uint32_t generation;
    uint64_t tick, at; // `at`: where the buffer's first record is in the file
    bool ticked;       // a TICK was met
    uint64_t word[2 * RB_RAW_BUFFER];
};

void rb_raw_start(const struct rb_raw *r, uint32_t thread, struct rb_raw_cursor *c);
// Reads the next event. Returns 1, 0 at the end, or a negative errno with `e`.
int rb_raw_next(const struct rb_raw *r, struct rb_raw_cursor *c, struct rb_raw_event *event,
                struct rb_error *e);

#endif
