// Writes .rbt files, event by event, in bounded memory.
//
// Events go into the current page; full pages are checksummed and written in order, so that a writer killed
// at any moment leaves a file whose written pages open. The header is written at the start without
// RBT_FINISHED and again, complete, by rb_writer_finish. An event that does not fit the 8-byte layout turns
// the whole file into 16-byte records once, in place. Tool side (the recording runtime has its own writer of
// raw chunks, merged by the tool).
#ifndef RB_TRACE_WRITER_H
#define RB_TRACE_WRITER_H

#include "base/error.h"
#include "trace/format.h"

struct rb_writer {
    const char *path;
    int fd;
    struct rbt_header header;
    struct rb_layout layout;
    uint64_t page[RBT_PAGE_BYTES / 8];
    uint32_t used, per_page;
    uint64_t pages;
    unsigned char *out; // finished pages waiting for one write
    uint32_t out_pages;
    uint64_t held; // mutexes held at the moment, for h
    struct rb_error *error;
    bool failed;
};

// Counts the caller expects, to choose the layout; 0 means "unknown".
struct rb_writer_hint {
    uint64_t targets, threads, locations;
};

// `path` is created or truncated; with `fd` >= 0 that descriptor is used instead (and owned).
int rb_writer_open(struct rb_writer *w, const char *path, int fd, const struct rb_writer_hint *hint,
                   struct rb_error *e);

// Appends an event. Failures are remembered and returned by rb_writer_finish; `outermost` says for ACQUIRE
// and RELEASE whether the lock really changed hands (not a re-entrant inner one).
void rb_writer_put(struct rb_writer *w, const struct rb_event *event, bool outermost);

// Sets a table: `count` entries, with names (each LEB128 length + bytes, as in the file) or without (NULL).
void rb_writer_table(struct rb_writer *w, enum rbt_table table, uint64_t count, const void *names,
                     uint64_t bytes);
void rb_writer_aliases(struct rb_writer *w, const uint32_t *pairs, uint64_t count);

// Writes what is left, the tables given so far and the final header. The descriptor stays open for a caller
// that passed one (to be read back), else it is closed. 0 or a negative errno with the error of open.
int rb_writer_finish(struct rb_writer *w, uint64_t threads_run, uint32_t flags);

// Gives up: closes, and removes the file if the writer created it by name.
void rb_writer_abandon(struct rb_writer *w);

#endif
