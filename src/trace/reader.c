// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The reader trusts nothing in the file: the header is checked field by field when it is opened, a page
// when it is read.
//
// The page check runs over every event of every analysis. So it is written as OR-reductions that compile to
// SIMD code without branches. An unsigned number x is out of range [0, n) exactly if n - 1 - x is negative.
// So the sign bits of those differences, ORed over the page, tell whether a record is wrong. Only then does
// a second, slow pass look for the event to name.
#define _GNU_SOURCE 1
#include "trace/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "trace/reader_private.h"

const char *const rb_table_words[RBT_TABLES] = {"threads",   "locks",     "variables",
                                                "locations", "functions", "marks"};

// ---- page check ----------------------------------------------------------------------------------------

struct limits {
    uint64_t threads, locations, variables; // numbers below these exist
};

struct verdict {
    uint64_t out_of_range; // sign bit
    uint64_t seen;         // bit `code` for each code that occurs
};

RB_SIMD static struct verdict scan_narrow(const uint64_t *w, uint32_t count, unsigned thread_shift,
                                          unsigned location_shift, uint64_t target_mask, uint64_t thread_mask,
                                          uint64_t location_mask, uint64_t threads, uint64_t locations,
                                          uint64_t variables)
{
    uint64_t bad = 0, seen = 0;

    for (uint32_t i = 0; i < count; i++) {
        const uint64_t x = w[i];
        bad |= threads - 1 - (x >> thread_shift & thread_mask);
        bad |= locations - 1 - (x >> location_shift & location_mask);
        bad |= (variables - 1 - (x & target_mask)) & ~x; // accesses only: their sign bit is clear
        seen |= UINT64_C(1) << (x >> RBT_OPCODE_SHIFT);
    }
    return (struct verdict){bad, seen};
}

RB_SIMD static struct verdict scan_wide(const uint64_t *w, uint32_t count, uint64_t threads,
                                        uint64_t locations, uint64_t variables)
{
    uint64_t bad = 0, seen = 0;

    for (uint32_t i = 0; i < count; i++) {
        const uint64_t x = w[2 * i], target = w[2 * i + 1];
        bad |= threads - 1 - (x >> 32 & 0x3ffffff);
        bad |= locations - 1 - (x & 0xffffffff);
        bad |= ((variables - 1 - target) | target) & ~x; // a target of 2^63 and more wraps around
        seen |= UINT64_C(1) << (x >> RBT_OPCODE_SHIFT);
    }
    return (struct verdict){bad, seen};
}

static bool records_good(const struct rb_layout *l, const uint64_t *words, uint32_t count,
                         const struct limits *n)
{
    const struct verdict v =
        l->record_bytes == 16
            ? scan_wide(words, count, n->threads, n->locations, n->variables)
            : scan_narrow(words, count, l->thread_shift, l->location_shift, l->target_mask, l->thread_mask,
                          l->location_mask, n->threads, n->locations, n->variables);
    return !(v.out_of_range >> 63) && !(v.seen & ~rb_known_codes());
}

static struct limits limits_of(const struct rb_reader *r)
{
    return (struct limits){rb_reader_count(r, RBT_THREADS), rb_reader_count(r, RBT_LOCATIONS),
                           rb_reader_count(r, RBT_VARIABLES)};
}

static RB_NOINLINE int bad_number(const struct rb_reader *r, uint64_t number, uint64_t offset,
                                  const char *what, uint64_t found, uint64_t count, struct rb_error *e)
{
    return rb_bad_input(e,
                        "%s: event %" PRIu64 " (offset 0x%" PRIx64 "): %s %" PRIu64
                        " does not exist, the trace has %" PRIu64 " %ss",
                        r->path, number, offset, what, found, count, what);
}

// Finds the wrong record of this page, and reports its fault.
static RB_NOINLINE int bad_record(const struct rb_reader *r, uint64_t index, const uint64_t *words,
                                  uint32_t count, struct rb_error *e)
{
    const struct limits n = limits_of(r);
    const bool wide = r->layout.record_bytes == 16;

    for (uint32_t i = 0; i < count; i++) {
        const struct rb_event event = rb_unpack(&r->layout, words + (wide ? 2 * i : i), wide);
        const uint64_t number = index * r->per_page + i;
        const uint64_t offset = (index + 1) * RBT_PAGE_BYTES + sizeof(struct rbt_page_head) +
                                (uint64_t)i * r->layout.record_bytes;
        if (!rb_op_info[event.op].text)
            return rb_bad_input(e,
                                "%s: event %" PRIu64 " (offset 0x%" PRIx64 "): code %d is no kind of event",
                                r->path, number, offset, (int)event.op);
        if (event.thread >= n.threads)
            return bad_number(r, number, offset, "thread", event.thread, n.threads, e);
        if (event.location >= n.locations)
            return bad_number(r, number, offset, "location", event.location, n.locations, e);
        if (event.op < RB_FIRST_NON_ACCESS && event.target >= n.variables)
            return bad_number(r, number, offset, "variable", event.target, n.variables, e);
    }
    return rb_internal(e, "%s: page %" PRIu64 ": check and search disagree", r->path, index);
}

static uint32_t expected_count(const struct rb_reader *r, uint64_t index)
{
    return index + 1 < r->pages ? r->per_page : (uint32_t)(r->header.events - index * r->per_page);
}

static bool page_good(const struct rb_reader *r, const uint64_t *page, uint64_t index)
{
    const struct limits n = limits_of(r);
    struct rbt_page_head head;

    memcpy(&head, page, sizeof(head));
    return rb_page_sum_good(page, index) && head.count == expected_count(r, index) &&
           (r->records_at_use || records_good(&r->layout, page + RB_HEAD_WORDS, head.count, &n));
}

static RB_NOINLINE int bad_page(const struct rb_reader *r, const uint64_t *page, uint64_t index,
                                struct rb_error *e)
{
    const uint64_t offset = (index + 1) * RBT_PAGE_BYTES, first = index * r->per_page;
    struct rbt_page_head head;

    memcpy(&head, page, sizeof(head));
    if (head.magic != RBT_PAGE_MAGIC)
        return rb_bad_input(e,
                            "%s: page %" PRIu64 " (offset 0x%" PRIx64 ", events from %" PRIu64
                            "): starts with 0x%08" PRIx32 ", not with the page mark 0x%08x",
                            r->path, index, offset, first, head.magic, RBT_PAGE_MAGIC);
    if (!rb_page_sum_good(page, index))
        return rb_bad_input(e,
                            "%s: page %" PRIu64 " (offset 0x%" PRIx64 ", events from %" PRIu64
                            "): checksum does not match; the file is damaged",
                            r->path, index, offset, first);
    if (head.count != expected_count(r, index))
        return rb_bad_input(e,
                            "%s: page %" PRIu64 " (offset 0x%" PRIx64 ", events from %" PRIu64
                            "): holds %" PRIu32 " events, the header asks for %" PRIu32,
                            r->path, index, offset, first, head.count, expected_count(r, index));
    return bad_record(r, index, page + RB_HEAD_WORDS, head.count, e);
}

// ---- reading -------------------------------------------------------------------------------------------

int rb_reader_read(const struct rb_reader *r, void *data, uint64_t bytes, uint64_t offset, struct rb_error *e)
{
    unsigned char *to = data;

    while (bytes > 0) {
        const ssize_t done = pread(r->fd, to, bytes, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return rb_internal(e, "%s: cannot read at offset 0x%" PRIx64 ": %s", r->path, offset,
                               strerror(errno));
        if (done == 0)
            return rb_bad_input(e, "%s: ends at offset 0x%" PRIx64 ": the file shrank while being read",
                                r->path, offset);
        to += done;
        offset += (uint64_t)done;
        bytes -= (uint64_t)done;
    }
    return 0;
}

int rb_reader_pages(const struct rb_reader *r, uint64_t index, uint32_t want, void *buffer, uint32_t *good,
                    struct rb_error *e)
{
    const uint64_t *page = buffer;

    *good = 0;
    if (index >= r->pages)
        return rb_internal(e, "%s: page %" PRIu64 " asked for, the trace has %" PRIu64, r->path, index,
                           r->pages);
    if (want > r->pages - index)
        want = (uint32_t)(r->pages - index);
    const int status =
        rb_reader_read(r, buffer, (uint64_t)want * RBT_PAGE_BYTES, (index + 1) * RBT_PAGE_BYTES, e);
    if (status < 0)
        return status;
    // A bad page further on is reported when it is read; the good pages before it are used.
    for (; *good < want && page_good(r, page, index + *good); page += RBT_PAGE_BYTES / 8)
        ++*good;
    return *good > 0 ? 0 : bad_page(r, page, index, e);
}

struct rb_page rb_reader_view(const struct rb_reader *r, const void *page, uint64_t index)
{
    const uint64_t *words = page;
    struct rbt_page_head head;

    memcpy(&head, words, sizeof(head));
    return (
        struct rb_page){.words = words + RB_HEAD_WORDS, .count = head.count, .first = index * r->per_page};
}

static RB_NOINLINE int fill_buffer(struct rb_reader *r, uint64_t index, uint32_t ahead, struct rb_error *e)
{
    const uint32_t want = ahead < RB_READER_PAGES - 1 ? ahead + 1 : RB_READER_PAGES;
    uint32_t good;

    r->buffer_count = 0;
    const int status = rb_reader_pages(r, index, want, r->buffer, &good, e);
    if (status < 0)
        return status;
    r->bytes_read += (uint64_t)good * RBT_PAGE_BYTES;
    r->buffer_first = index;
    r->buffer_count = good;
    return 0;
}

void rb_reader_records_at_use(struct rb_reader *r, bool on)
{
    r->records_at_use = on;
    r->buffer_count = 0; // pages in the buffer were checked in the other way
}

int rb_reader_page(struct rb_reader *r, uint64_t index, uint32_t ahead, struct rb_page *page,
                   struct rb_error *e)
{
    if (index - r->buffer_first >= r->buffer_count) {
        const int status = fill_buffer(r, index, ahead, e);
        if (status < 0)
            return status;
    }
    *page = rb_reader_view(r, rb_reader_slot(r, index - r->buffer_first), index);
    return 0;
}

int rb_reader_event(struct rb_reader *r, uint64_t number, struct rb_event *event, struct rb_error *e)
{
    const bool wide = r->layout.record_bytes == 16;
    struct rb_page page;

    if (number >= r->header.events)
        return rb_bad_input(e, "%s: there is no event %" PRIu64 ", the trace has %" PRIu64 " (from 0)",
                            r->path, number, r->header.events);
    const int status = rb_reader_page(r, number / r->per_page, 0, &page, e);
    if (status < 0)
        return status;
    const uint64_t i = number % r->per_page;
    *event = rb_unpack(&r->layout, page.words + (wide ? 2 * i : i), wide);
    return 0;
}

// ---- names ---------------------------------------------------------------------------------------------

// Splits `packed` into NUL-terminated strings. The result needs one byte a name for the NUL. Each name
// gives up at least one byte of length, so the result fits the same number of bytes.
static int split_names(const struct rb_reader *r, int table, const unsigned char *packed, uint64_t bytes,
                       struct rb_names *names, struct rb_error *e)
{
    uint64_t at = 0, to = 0;

    for (uint64_t i = 0; i < names->count; i++) {
        uint64_t length = 0;
        bool ended = false;
        for (unsigned shift = 0; at < bytes && shift < 63 && !ended; shift += 7) {
            length |= (uint64_t)(packed[at] & 0x7f) << shift;
            ended = !(packed[at++] & 0x80);
        }
        if (!ended || length > bytes - at)
            return rb_bad_input(e, "%s: table of %s: name %" PRIu64 " runs over the end of the table",
                                r->path, rb_table_words[table], i);
        if (memchr(packed + at, 0, length))
            return rb_bad_input(e, "%s: table of %s: name %" PRIu64 " contains a NUL byte", r->path,
                                rb_table_words[table], i);
        names->offset[i] = to;
        memcpy(names->bytes + to, packed + at, length);
        names->bytes[to + length] = 0;
        at += length;
        to += length + 1;
    }
    if (at != bytes)
        return rb_bad_input(e, "%s: table of %s: %" PRIu64 " bytes behind the last name", r->path,
                            rb_table_words[table], bytes - at);
    return 0;
}

static int load_table(struct rb_reader *r, int table, struct rb_error *e)
{
    const struct rbt_table_head *head = &r->header.table[table];
    struct rb_names *names = &r->names[table];
    const uint64_t padded = (head->bytes + 7) & ~UINT64_C(7);
    int status;

    names->count = head->count;
    if (head->bytes == 0)
        return 0;
    uint64_t *packed = malloc(padded);
    names->bytes = malloc(padded);
    names->offset = malloc(head->count * sizeof(names->offset[0]));
    if (!packed || !names->bytes || !names->offset) {
        status = rb_internal(e, "%s: out of memory for the names of %" PRIu64 " %s", r->path, head->count,
                             rb_table_words[table]);
        goto out;
    }
    status = rb_reader_read(r, packed, padded, head->offset, e);
    if (status < 0)
        goto out;
    if (rb_sum(packed, padded / 8, 0) != head->sum) {
        status = rb_bad_input(e,
                              "%s: table of %s (offset 0x%" PRIx64
                              "): checksum does not match; the file is damaged",
                              r->path, rb_table_words[table], head->offset);
        goto out;
    }
    status = split_names(r, table, (const unsigned char *)packed, head->bytes, names, e);
out:
    free(packed);
    return status;
}

int rb_reader_load_names(struct rb_reader *r, struct rb_error *e)
{
    for (int t = 0; t < RBT_TABLES && !r->names_loaded; t++) {
        free(r->names[t].bytes);
        free(r->names[t].offset);
        r->names[t] = (struct rb_names){0};
        const int status = load_table(r, t, e);
        if (status < 0)
            return status;
    }
    r->names_loaded = true;
    return 0;
}

const char *rb_reader_name(const struct rb_reader *r, enum rbt_table table, uint64_t id, char *scratch)
{
    static const char *const pattern[RBT_TABLES] = {
        [RBT_THREADS] = "T%" PRIu64,  [RBT_LOCKS] = "L%" PRIu64,     [RBT_VARIABLES] = "V%" PRIu64,
        [RBT_LOCATIONS] = "%" PRIu64, [RBT_FUNCTIONS] = "F%" PRIu64, [RBT_MARKS] = "mark(%" PRIu64 ")"};
    const struct rb_names *names = &r->names[table];

    if (names->bytes && id < names->count)
        return names->bytes + names->offset[id];
    snprintf(scratch, 32, pattern[table], id);
    return scratch;
}

// ---- a whole trace -------------------------------------------------------------------------------------

#define MOST_EVENTS (UINT32_MAX - 16)

static int take_page(const struct rb_reader *r, const struct rb_page *page, struct rb_events *t,
                     struct rb_error *e)
{
    const bool wide = r->layout.record_bytes == 16;

    for (uint32_t k = 0; k < page->count; k++) {
        struct rb_event event = rb_unpack(&r->layout, page->words + (wide ? 2 * k : k), wide);
        if (!rb_reader_target_ok(r, &event))
            return rb_bad_input(e, "%s: event %" PRIu64 ": target %" PRIu64 " is in no table", r->path,
                                page->first + k, event.target);
        if (event.op == RB_FORK || event.op == RB_JOIN)
            event.target = rb_reader_thread(r, event.target);
        if (t->count < r->header.events)
            t->at[t->count++] = event;
    }
    return 0;
}

int rb_events_load(struct rb_reader *r, struct rb_events *t, struct rb_error *e)
{
    struct rb_page page;
    int status = 0;

    *t = (struct rb_events){0};
    if (r->header.events > MOST_EVENTS)
        return rb_bad_input(e, "%s: %" PRIu64 " events; at most %u can be taken as a whole", r->path,
                            r->header.events, MOST_EVENTS);
    for (int i = 0; i < RBT_TABLES; i++)
        t->table[i] = rb_reader_count(r, (enum rbt_table)i);
    t->at = malloc((r->header.events + 1) * sizeof(*t->at));
    if (!t->at)
        return rb_internal(e, "%s: out of memory for %" PRIu64 " events", r->path, r->header.events);
    for (uint64_t p = 0; p < r->pages && status == 0; p++) {
        status = rb_reader_page(r, p, RB_READER_PAGES - 1, &page, e);
        if (status == 0)
            status = take_page(r, &page, t, e);
    }
    if (status < 0)
        rb_events_free(t);
    return status;
}

void rb_events_free(struct rb_events *t)
{
    free(t->at);
    t->at = NULL;
    t->count = 0;
}
