// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes .rbt files, event by event, in bounded memory.
//
// Events go into the current page; full pages are checksummed and written in order. So a writer killed at
// any moment leaves a file with written pages that can be opened. The header is written at the start without
// RBT_FINISHED and again, complete, by rb_writer_finish. An event that does not fit the 8-byte layout turns
// the whole file into 16-byte records once, in place. Tool side (the recording runtime has its own writer
// of raw chunks, merged by the tool).
#ifndef RB_TRACE_WRITER_H
#define RB_TRACE_WRITER_H

#include "base/error.h"
#include "trace/format.h"

struct rb_writer {
    const char *path;
    int fd;
    bool by_name; // the writer opened `path` itself, and removes it on failure
    bool failed;
    int status; // of the first failure
    struct rb_error *error;

    struct rbt_header header;
    struct rb_layout layout;
    uint64_t target_over; // bits that have no room in the layout
    uint32_t thread_over, location_over;
    uint64_t *page;          // the page being filled, in `out` behind the waiting ones
    uint32_t used, per_page; // records
    uint64_t pages;          // complete ones, waiting ones included
    unsigned char *out;      // finished pages waiting for one write
    uint32_t out_pages;
    uint64_t held; // locks held at the moment, for h

    // Needs of the events for the tables: largest number + 1.
    uint32_t threads_seen, locations_seen;
    uint64_t targets_seen[RB_OPS];

    void *names[RBT_TABLES]; // copies, padded to 8
    bool table_set[RBT_TABLES];
    uint32_t *aliases;
};

// Counts the caller expects, to choose the layout; 0 means "unknown".
struct rb_writer_hint {
    uint64_t targets, threads, locations;
};

// Opens a trace for writing. `path` is created or truncated and must stay valid, as must `e`. With `fd` >=
// 0 (a regular file or memfd, open for reading and writing) that descriptor is used instead, and owned.
int rb_writer_open(struct rb_writer *w, const char *path, int fd, const struct rb_writer_hint *hint,
                   struct rb_error *e);

// Appends an event. Failures are remembered and returned by rb_writer_finish. For ACQUIRE, RELEASE, RD_ACQ
// and RD_REL, `outermost` is true if the lock really changed hands (not a re-entrant inner one).
void rb_writer_put(struct rb_writer *w, const struct rb_event *event, bool outermost);

// Sets a table: `count` entries, with names (each LEB128 length + bytes, as in the file; copied) or without
// (NULL). A table never set has no names and as many entries as the events used.
void rb_writer_table(struct rb_writer *w, enum rbt_table table, uint64_t count, const void *names,
                     uint64_t bytes);
// Pairs (name seen in fork/join, thread it means); copied.
void rb_writer_aliases(struct rb_writer *w, const uint32_t *pairs, uint64_t count);

// Writes the rest, the tables given so far and the final header. On success the descriptor stays open for a
// caller that passed one (to be read back), else it is closed. On failure (negative errno, with the error
// given to open) everything is abandoned as by rb_writer_abandon.
int rb_writer_finish(struct rb_writer *w, uint64_t threads_run, uint32_t flags);

// Abandons: closes, and removes the file if the writer created it by name. Harmless after finish.
void rb_writer_abandon(struct rb_writer *w);

#endif
