// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads .rbt files: the header, any event by number, runs of whole pages in order, and names.
//
// Every page is checked before its records are handed out: checksum, count, and that each record's thread,
// location and access target exist. So these numbers may be used as indices without another test. The
// targets of non-access events are not checked; rb_reader_target_ok() checks them.
// (rb_reader_records_at_use leaves records to the caller.)
//
// Reads use pread with a buffer of their own. So a file that shrinks meanwhile is an error and not a
// SIGBUS, and memory does not grow with the trace. Tool side.
#ifndef RB_TRACE_READER_H
#define RB_TRACE_READER_H

#include "base/error.h"
#include "trace/format.h"

struct rb_names {
    uint64_t count;
    char *bytes;      // all names, NUL-terminated, one after the other; NULL for a table without names
    uint64_t *offset; // of name i in `bytes`
};

#define RB_READER_PAGES 64u // of the buffer

struct rb_reader {
    const char *path; // as the user gave it, for messages
    int fd;
    struct rbt_header header;
    struct rb_layout layout;
    uint32_t per_page;   // records of a full page
    uint64_t pages;      // data pages in the file
    uint64_t tables_at;  // offset behind the last page
    bool recovered;      // the writer did not finish: header rebuilt from the pages
    uint64_t lost_bytes; // behind the last good page of a recovered file

    uint32_t *alias; // fork/join target -> the thread it names; NULL without aliases

    bool records_at_use;   // pages are checked, their records are not: see rb_reader_records_at_use
    unsigned char *buffer; // pages [buffer_first, buffer_first + buffer_count), checked
    uint64_t buffer_first;
    uint32_t buffer_count;
    uint64_t bytes_read; // counted, for the claim that RPT reads its windows and nothing else

    struct rb_names names[RBT_TABLES]; // filled by rb_reader_load_names
    bool names_loaded;
};

struct rb_page {
    const uint64_t *words; // `count` records
    uint32_t count;
    uint64_t first; // number of its first event
};

// Opens a regular file that starts with the magic. `path` must stay valid. Returns 0 or a negative errno
// with `e`.
int rb_reader_open(struct rb_reader *r, const char *path, struct rb_error *e);
// Does the same for a descriptor handed over by the caller: closed by rb_reader_close, or at once on
// failure.
int rb_reader_open_fd(struct rb_reader *r, int fd, const char *path, struct rb_error *e);
void rb_reader_close(struct rb_reader *r);

// Reads page number `index` (from 0), and up to `ahead` pages more into the buffer. `*page` points to
// memory that is valid until the next call that reads. Returns 0 or a negative errno with `e`.
int rb_reader_page(struct rb_reader *r, uint64_t index, uint32_t ahead, struct rb_page *page,
                   struct rb_error *e);

// Reads and checks up to `want` pages from page `index` on into the caller's buffer. It does not change the
// reader, so that another thread may read ahead. `good` of them are sound, at least one if it returns 0.
int rb_reader_pages(const struct rb_reader *r, uint64_t index, uint32_t want, void *buffer, uint32_t *good,
                    struct rb_error *e);
// Returns a page of such a buffer.
struct rb_page rb_reader_view(const struct rb_reader *r, const void *page, uint64_t index);

// Sets, with `on`, that pages are handed out once their checksums and counts are right: the caller checks
// each record it uses. For the replay, which uses few. Off at first.
void rb_reader_records_at_use(struct rb_reader *r, bool on);

// Reads one event by number.
int rb_reader_event(struct rb_reader *r, uint64_t number, struct rb_event *event, struct rb_error *e);

static inline uint64_t rb_reader_count(const struct rb_reader *r, enum rbt_table table)
{
    return r->header.table[table].count;
}

// Returns true if the kind exists and the target is in its table.
static inline bool rb_reader_target_ok(const struct rb_reader *r, const struct rb_event *event)
{
    const struct rb_op_info *info = &rb_op_info[event->op];
    return info->text && event->target < r->header.table[rb_table_of_space[info->space]].count;
}

// Returns the thread that a fork or join names.
static inline uint32_t rb_reader_thread(const struct rb_reader *r, uint64_t target)
{
    return r->alias ? r->alias[target] : (uint32_t)target;
}

int rb_reader_load_names(struct rb_reader *r, struct rb_error *e);
// Returns the name of an entry; generated names are written into `scratch` (at least 32 bytes). Needs
// loaded names.
const char *rb_reader_name(const struct rb_reader *r, enum rbt_table table, uint64_t id, char *scratch);

// ---- a whole trace as an array -------------------------------------------------------------------------
// For algorithms that move back and forth in it: injection and its verifier. Everything is checked once
// while it is loaded: targets are in their tables, forks and joins name threads. So numbers may be used as
// indices without another test. Memory grows with the trace (24 bytes an event).

struct rb_events {
    struct rb_event *at;
    uint64_t count;
    uint64_t table[RBT_TABLES]; // entries of each
};

// Loads a trace without names. At most UINT32_MAX - 16 events. Returns 0 or a negative errno with `e`.
int rb_events_load(struct rb_reader *r, struct rb_events *t, struct rb_error *e);
void rb_events_free(struct rb_events *t);

// ---- check.c -----------------------------------------------------------------------------------------------

// Irregularities that are no errors; each non-zero count is printed.
struct rb_check_notes {
    uint64_t unmatched_release, overlapping_acquire; // under lenient
    uint64_t open_locks;                             // held at the end
    uint64_t exit_without_enter;
    uint64_t runs_before_fork, runs_after_join, forked_twice;
};

// Reads a whole trace and checks its claims: every page and table is sound, the header's counts are those
// of the events, the lock discipline is kept.
int rb_check(struct rb_reader *r, bool lenient, struct rb_check_notes *notes, rb_progress_fn progress,
             void *context, struct rb_error *e);

#endif
