// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The events of STD text in the order of the lines. A second thread reads and splits the text while the
// first one numbers and writes the events: splitting a line costs as much as all the rest. Small files, and
// systems without a thread to spare, are read by the first thread, with the same code. Tool side.
//
// A ring of chunks, text and events, changes hands (base/handoff.h). A fault in the text is reported by the
// chunk with the events before it, so that errors keep the order of the lines.
#ifndef RB_TRACE_STD_STD_LINES_H
#define RB_TRACE_STD_STD_LINES_H

#include "base/error.h"
#include "base/handoff.h"
#include "trace/format.h"
#include "trace/intern.h"
#include "trace/std/std_line.h"

#define RB_STD_CHUNKS RB_HANDOFF_PLACES
#define RB_STD_AHEAD  16u // events behind a chunk's last one that may be looked at, for prefetching

// An event with names that are not numbered yet. 48 bytes: a chunk's events should stay in the cache on
// their way from one core to the other.
struct rb_std_event {
    struct rb_intern_key thread, target;
    uint32_t at;   // of the line in the chunk's text; it starts with the thread's name
    uint32_t line; // number within the chunk, from 1
    int32_t location;
    uint16_t target_at; // in the line
    uint8_t op;         // enum rb_op
    uint8_t table;      // of the target, enum rbt_table
};

_Static_assert(sizeof(struct rb_std_event) == 48, "no padding");

struct rb_std_chunk {
    char *text; // RB_STD_PAD bytes, `length` bytes from the file (where it points), a newline, RB_STD_PAD
    size_t length;
    struct rb_std_event *events;
    uint32_t count;
    uint64_t before, lines; // lines of the text before this chunk, and in it
    uint64_t blank, comments;
    int status; // of the text after these events; negative errno: then this is the last chunk
    struct rb_error error;
    bool last;
};

struct rb_std_lines {
    const char *path;
    struct rb_std_chunk chunk[RB_STD_CHUNKS];
    uint32_t turn; // chunk the first thread is in
    bool handed;   // it has been given one
    bool threaded;
    pthread_t thread;
    struct rb_handoff handoff;

    // The reading thread's.
    int fd;
    bool started;
    uint64_t line; // lines handed on so far
    char *rest;    // start of a line, its end not read yet
    size_t rest_bytes;
};

// Opens the text. `fd` stays the caller's; `bytes` is about its size. rb_std_lines_stop must be called in
// any case.
int rb_std_lines_start(struct rb_std_lines *s, const char *path, int fd, uint64_t bytes, struct rb_error *e);
// Returns the next chunk, valid until the next call; NULL after the last.
const struct rb_std_chunk *rb_std_lines_next(struct rb_std_lines *s);
void rb_std_lines_stop(struct rb_std_lines *s);

#endif
