// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Opening a trace. Every field of the header must have a value that a writer can write, so that the rest of
// the program can size its arrays from it. A file without its final header is surveyed
// page by page instead.
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/lock_check.h"
#include "trace/reader_private.h"

// ---- the header ----------------------------------------------------------------------------------------

static int not_a_trace(const struct rb_reader *r, const unsigned char *start, uint64_t bytes,
                       struct rb_error *e)
{
    char shown[20];
    size_t n = 0;

    for (; n < bytes && n < sizeof(shown) - 1 && start[n] >= ' ' && start[n] < 127; n++)
        shown[n] = (char)start[n];
    shown[n] = 0;
    if (bytes == 0)
        return rb_bad_input(e, "%s: the file is empty, expected a Railbird trace", r->path);
    if (n >= 3)
        return rb_bad_input(e, "%s: not a Railbird trace: starts with the text \"%s\", expected \"%s\"",
                            r->path, shown, RBT_MAGIC);
    return rb_bad_input(e, "%s: not a Railbird trace: does not start with \"%s\"", r->path, RBT_MAGIC);
}

// Reports a field of the header with an impossible value, although the checksum is right.
static int bad_header(const struct rb_reader *r, const char *field, uint64_t found, const char *expected,
                      struct rb_error *e)
{
    return rb_bad_input(e, "%s: header: %s is %" PRIu64 ", expected %s", r->path, field, found, expected);
}

static int check_shape(struct rb_reader *r, const uint64_t *page, struct rb_error *e)
{
    const struct rbt_header *h = &r->header;
    const size_t words = offsetof(struct rbt_header, header_sum) / 8;

    if (h->version != RBT_VERSION)
        return rb_bad_input(e, "%s: trace format version %" PRIu32 ", this build reads version %u", r->path,
                            h->version, RBT_VERSION);
    if (h->header_sum != rb_sum(page, words, 0))
        return rb_bad_input(e, "%s: header: checksum does not match; the file is damaged", r->path);
    for (size_t i = words + 1; i < RB_PAGE_WORDS; i++)
        if (page[i] != 0)
            return bad_header(r, "the padding behind the fields", page[i], "zeros", e);
    if (h->flags & ~(uint32_t)(RBT_FINISHED | RBT_LENIENT))
        return bad_header(r, "flags", h->flags, "only 1 and 2 set", e);
    if (h->reserved0 != 0)
        return bad_header(r, "a reserved byte", h->reserved0, "0", e);
    for (size_t i = 0; i < RB_LENGTH(h->reserved1); i++)
        if (h->reserved1[i] != 0)
            return bad_header(r, "a reserved word", h->reserved1[i], "0", e);
    if (h->record_bytes != 8 && h->record_bytes != 16)
        return bad_header(r, "the record size", h->record_bytes, "8 or 16 bytes", e);
    if (h->record_bytes == 16 && (h->target_bits | h->thread_bits | h->location_bits) != 0)
        return bad_header(r, "a field width of 16-byte records",
                          (uint64_t)(h->target_bits | h->thread_bits | h->location_bits), "0", e);
    if (!rb_layout_set(&r->layout, h->record_bytes, h->target_bits, h->thread_bits, h->location_bits))
        return bad_header(r, "the sum of the field widths",
                          (uint64_t)(h->target_bits + h->thread_bits + h->location_bits),
                          "at most 58 bits (56 for targets, 32 for threads and for locations)", e);
    r->per_page = rb_records_per_page(h->record_bytes);
    return 0;
}

static int check_counts(const struct rb_reader *r, struct rb_error *e)
{
    const struct rbt_header *h = &r->header;
    const uint64_t known = rb_known_codes();
    uint64_t sum = 0;

    if (h->events > RB_MAX_EVENTS)
        return bad_header(r, "the number of events", h->events, "at most 2^40", e);
    for (int op = 0; op < RB_OPS; op++) {
        if (h->events_of[op] > h->events - sum)
            return bad_header(r, "a count of one kind of event", h->events_of[op],
                              "no more than there are events", e);
        if (h->events_of[op] != 0 && !(known >> op & 1))
            return bad_header(r, "the count of an unknown kind of event", h->events_of[op], "0", e);
        sum += h->events_of[op];
    }
    if (sum != h->events)
        return bad_header(r, "the sum of the counts by kind", sum, "the number of events", e);
    if (h->accesses != h->events_of[RB_READ] + h->events_of[RB_WRITE])
        return bad_header(r, "the number of accesses", h->accesses, "the reads plus the writes", e);
    if (h->table[RBT_THREADS].count > RB_MAX_THREADS)
        return bad_header(r, "the number of threads", h->table[RBT_THREADS].count, "at most 65535", e);
    if (h->table[RBT_LOCATIONS].count > RB_MAX_LOCATIONS)
        return bad_header(r, "the number of locations", h->table[RBT_LOCATIONS].count, "at most 2^24", e);
    if (h->threads_run > h->table[RBT_THREADS].count)
        return bad_header(r, "the number of threads that ran", h->threads_run, "no more than the threads", e);
    if (h->locks_held > h->events)
        return bad_header(r, "the number of locks held at once", h->locks_held,
                          "no more than there are events", e);
    return 0;
}

// Tables and aliases lie one after the other behind the pages and end with the file.
static int check_tables(struct rb_reader *r, uint64_t file_bytes, struct rb_error *e)
{
    const struct rbt_header *h = &r->header;
    uint64_t at = r->tables_at;

    if (at > file_bytes)
        return rb_bad_input(e, "%s: truncated: %" PRIu64 " bytes, %" PRIu64 " events need %" PRIu64, r->path,
                            file_bytes, h->events, at);
    for (int t = 0; t < RBT_TABLES; t++) {
        const struct rbt_table_head *head = &h->table[t];
        if (head->bytes == 0) {
            if (head->count > RBT_MAX_UNNAMED(h->events) || head->offset != 0 || head->sum != 0)
                return rb_bad_input(e,
                                    "%s: header: table of %s: %" PRIu64 " without names at 0x%" PRIx64
                                    ", expected at most %" PRIu64 " at 0",
                                    r->path, rb_table_words[t], head->count, head->offset,
                                    RBT_MAX_UNNAMED(h->events));
            continue;
        }
        if (head->count == 0 || head->count > head->bytes)
            return rb_bad_input(e, "%s: header: table of %s: %" PRIu64 " names cannot be %" PRIu64 " bytes",
                                r->path, rb_table_words[t], head->count, head->bytes);
        if (head->offset != at)
            return rb_bad_input(e, "%s: header: table of %s is at 0x%" PRIx64 ", expected 0x%" PRIx64,
                                r->path, rb_table_words[t], head->offset, at);
        if (head->bytes > file_bytes - at)
            return rb_bad_input(e,
                                "%s: truncated: the table of %s needs %" PRIu64 " bytes at 0x%" PRIx64
                                ", %" PRIu64 " are there",
                                r->path, rb_table_words[t], head->bytes, at, file_bytes - at);
        at += (head->bytes + 7) & ~UINT64_C(7);
        if (at > file_bytes)
            return rb_bad_input(e, "%s: truncated behind the table of %s", r->path, rb_table_words[t]);
    }
    if (h->aliases_count > h->table[RBT_THREADS].count)
        return bad_header(r, "the number of aliases", h->aliases_count, "no more than the threads", e);
    if (h->aliases_offset != (h->aliases_count ? at : 0) || (h->aliases_count == 0 && h->aliases_sum != 0))
        return bad_header(r, "the offset of the aliases", h->aliases_offset,
                          "the end of the tables, or 0 without aliases", e);
    if (h->aliases_count * 8 > file_bytes - at)
        return rb_bad_input(e,
                            "%s: truncated: %" PRIu64 " aliases at 0x%" PRIx64 ", the file has %" PRIu64
                            " bytes",
                            r->path, h->aliases_count, at, file_bytes);
    at += h->aliases_count * 8;
    if (at != file_bytes)
        return rb_bad_input(e, "%s: %" PRIu64 " bytes too many: the trace ends at 0x%" PRIx64, r->path,
                            file_bytes - at, at);
    return 0;
}

static int load_aliases(struct rb_reader *r, struct rb_error *e)
{
    const struct rbt_header *h = &r->header;
    const uint64_t threads = h->table[RBT_THREADS].count;
    uint64_t *pairs = NULL;
    int status = 0;

    if (h->aliases_count == 0)
        return 0;
    pairs = malloc(h->aliases_count * 8);
    r->alias = malloc(threads * sizeof(r->alias[0]));
    if (!pairs || !r->alias) {
        status = rb_internal(e, "%s: out of memory", r->path);
        goto out;
    }
    status = rb_reader_read(r, pairs, h->aliases_count * 8, h->aliases_offset, e);
    if (status < 0)
        goto out;
    if (rb_sum(pairs, h->aliases_count, 0) != h->aliases_sum) {
        status =
            rb_bad_input(e,
                         "%s: aliases (offset 0x%" PRIx64 "): checksum does not match; the file is damaged",
                         r->path, h->aliases_offset);
        goto out;
    }
    for (uint32_t i = 0; i < threads; i++)
        r->alias[i] = i;
    for (uint64_t i = 0; i < h->aliases_count && status == 0; i++) {
        const uint32_t from = (uint32_t)pairs[i], to = (uint32_t)(pairs[i] >> 32);
        if (from >= threads || to >= threads || from == to || r->alias[from] != from)
            status = rb_bad_input(e,
                                  "%s: alias %" PRIu64 " (%" PRIu32 " for %" PRIu32
                                  "): expected two of %" PRIu64 " threads, each renamed once",
                                  r->path, i, from, to, threads);
        else
            r->alias[from] = to;
    }
    for (uint32_t i = 0; i < threads && status == 0; i++)
        if (r->alias[r->alias[i]] != r->alias[i])
            status = rb_bad_input(e, "%s: thread %" PRIu32 " is an alias of an alias", r->path, i);
out:
    free(pairs);
    return status;
}

// ---- recovery ------------------------------------------------------------------------------------------

// The survey of the pages of a trace without its final header.
struct survey {
    struct rbt_header *header;
    struct rb_lock_table locks;
    uint64_t held;
    unsigned char ran[RB_MAX_THREADS];
};

static void raise_count(uint64_t *count, uint64_t number)
{
    if (number >= *count)
        *count = number + 1;
}

static bool is_survivable(const struct rb_event *event)
{
    const struct rb_op_info *info = &rb_op_info[event->op];

    return info->text && event->thread < RB_MAX_THREADS && event->location < RB_MAX_LOCATIONS &&
           event->target < (info->space == RB_SPACE_THREAD ? RB_MAX_THREADS : RBT_MAX_UNNAMED(RB_MAX_EVENTS));
}

static void survey_event(struct survey *s, const struct rb_event *event)
{
    struct rbt_header *h = s->header;

    raise_count(&h->table[RBT_THREADS].count, event->thread);
    raise_count(&h->table[RBT_LOCATIONS].count, event->location);
    raise_count(&h->table[rb_table_of_space[rb_op_info[event->op].space]].count, event->target);
    s->ran[event->thread] = 1;
    if (event->op == RB_FORK)
        s->ran[event->target] = 1;
    h->events_of[event->op]++;
    h->events++;
    if (event->op < RB_ACQUIRE || event->op > RB_RD_REL ||
        rb_lock_table_apply(&s->locks, event->op, event->thread, event->target) != RB_LOCK_OUTER)
        return;
    if (event->op == RB_ACQUIRE || event->op == RB_RD_ACQ)
        s->held++;
    else
        s->held--;
    if (s->held > h->locks_held)
        h->locks_held = s->held;
}

enum page_state { PAGE_BAD, PAGE_FULL, PAGE_LAST };

// Surveys the next page of an unfinished file; it is counted if it is good.
static enum page_state survey_page(struct rb_reader *r, struct survey *s, const uint64_t *page)
{
    const bool wide = r->layout.record_bytes == 16;
    struct rbt_page_head head;

    memcpy(&head, page, sizeof(head));
    if (!rb_page_sum_good(page, r->pages) || head.count == 0 || head.count > r->per_page)
        return PAGE_BAD;
    for (uint32_t i = 0; i < head.count; i++) {
        const struct rb_event event = rb_unpack(&r->layout, page + RB_HEAD_WORDS + (wide ? 2 * i : i), wide);
        if (!is_survivable(&event))
            return PAGE_BAD;
    }
    for (uint32_t i = 0; i < head.count; i++) {
        const struct rb_event event = rb_unpack(&r->layout, page + RB_HEAD_WORDS + (wide ? 2 * i : i), wide);
        survey_event(s, &event);
    }
    r->pages++;
    return head.count == r->per_page ? PAGE_FULL : PAGE_LAST;
}

static int recover_header(struct rb_reader *r, uint64_t file_bytes, struct rb_error *e)
{
    struct rbt_header *h = &r->header;
    struct survey *s = calloc(1, sizeof(*s));
    enum page_state last = PAGE_FULL;
    int status = 0;

    if (!s)
        return rb_internal(e, "%s: out of memory", r->path);
    // The first header has no counts; if they are not zero, they cannot be trusted.
    memset(&h->events, 0, offsetof(struct rbt_header, reserved1) - offsetof(struct rbt_header, events));
    s->header = h;
    for (uint64_t at = RBT_PAGE_BYTES; last == PAGE_FULL && at + RBT_PAGE_BYTES <= file_bytes;) {
        uint64_t pages = (file_bytes - at) / RBT_PAGE_BYTES;
        if (pages > RB_READER_PAGES)
            pages = RB_READER_PAGES;
        status = rb_reader_read(r, r->buffer, pages * RBT_PAGE_BYTES, at, e);
        if (status < 0)
            goto out;
        for (uint64_t i = 0; i < pages && last == PAGE_FULL; i++)
            last = survey_page(r, s, rb_reader_slot(r, i));
        at += pages * RBT_PAGE_BYTES;
    }
    if (r->pages == 0) {
        status = rb_bad_input(e, "%s: the writer was stopped before it wrote any events", r->path);
        goto out;
    }
    for (size_t t = 0; t < RB_MAX_THREADS; t++)
        h->threads_run += s->ran[t];
    h->accesses = h->events_of[RB_READ] + h->events_of[RB_WRITE];
    r->tables_at = (r->pages + 1) * RBT_PAGE_BYTES;
    r->recovered = true;
    r->lost_bytes = file_bytes - r->tables_at;
    status = s->locks.out_of_memory ? rb_internal(e, "%s: out of memory", r->path) : check_counts(r, e);
    for (int t = 0; t < RBT_TABLES && status == 0; t++)
        if (h->table[t].count > RBT_MAX_UNNAMED(h->events))
            status = rb_bad_input(e,
                                  "%s: events use %" PRIu64
                                  " %s, too many for an unfinished trace of %" PRIu64 " events",
                                  r->path, h->table[t].count, rb_table_words[t], h->events);
out:
    rb_lock_table_free(&s->locks);
    free(s);
    return status;
}

// ---- open and close ------------------------------------------------------------------------------------

static int open_checked(struct rb_reader *r, struct rb_error *e)
{
    struct stat st;
    uint64_t page[RB_PAGE_WORDS] = {0};
    int status;

    if (fstat(r->fd, &st) != 0)
        return rb_internal(e, "%s: cannot stat: %s", r->path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return rb_bad_input(e, "%s: %s, expected a trace file", r->path,
                            S_ISDIR(st.st_mode)    ? "is a directory"
                            : S_ISFIFO(st.st_mode) ? "is a pipe"
                                                   : "is not a regular file");
    const uint64_t file_bytes = (uint64_t)st.st_size;
    status = rb_reader_read(r, page, file_bytes < sizeof(page) ? file_bytes : sizeof(page), 0, e);
    if (status < 0)
        return status;
    memcpy(&r->header, page, sizeof(r->header));
    if (file_bytes < 8 || memcmp(r->header.magic, RBT_MAGIC, 8) != 0)
        return not_a_trace(r, (const unsigned char *)page, file_bytes, e);
    if (file_bytes < sizeof(page))
        return rb_bad_input(e, "%s: truncated: %" PRIu64 " bytes, the header alone is %u", r->path,
                            file_bytes, RBT_PAGE_BYTES);
    status = check_shape(r, page, e);
    if (status < 0)
        return status;
    r->buffer = aligned_alloc(RBT_PAGE_BYTES, (size_t)RB_READER_PAGES * RBT_PAGE_BYTES);
    if (!r->buffer)
        return rb_internal(e, "%s: out of memory", r->path);
    if (!(r->header.flags & RBT_FINISHED))
        return recover_header(r, file_bytes, e);

    status = check_counts(r, e);
    if (status < 0)
        return status;
    r->pages = (r->header.events + r->per_page - 1) / r->per_page;
    r->tables_at = (r->pages + 1) * RBT_PAGE_BYTES;
    status = check_tables(r, file_bytes, e);
    return status < 0 ? status : load_aliases(r, e);
}

int rb_reader_open_fd(struct rb_reader *r, int fd, const char *path, struct rb_error *e)
{
    *r = (struct rb_reader){.path = path, .fd = fd};
    const int status = open_checked(r, e);
    if (status < 0)
        rb_reader_close(r);
    return status;
}

int rb_reader_open(struct rb_reader *r, const char *path, struct rb_error *e)
{
    *r = (struct rb_reader){.path = path, .fd = -1};
    // O_NONBLOCK: a FIFO without a writer must be refused, and not block.
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return rb_bad_input(e, "%s: cannot open: %s", path, strerror(errno));
    return rb_reader_open_fd(r, fd, path, e);
}

void rb_reader_close(struct rb_reader *r)
{
    for (int t = 0; t < RBT_TABLES; t++) {
        free(r->names[t].bytes);
        free(r->names[t].offset);
        r->names[t] = (struct rb_names){0};
    }
    free(r->alias);
    free(r->buffer);
    r->alias = NULL;
    r->buffer = NULL;
    r->buffer_count = 0;
    r->names_loaded = false;
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
}
