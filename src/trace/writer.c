// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The page being filled lies in the output buffer behind the pages that wait for their write, so an event
// is stored once. The writer tracks the numbers that the tables must cover, so that every finished file can
// be opened. A caller that forgets an entry gets an error and not a broken trace.
//
// Widening: 510 narrow records are exactly two pages of 255 wide ones, so narrow page i becomes wide pages
// 2i and 2i + 1. Going from the last page to the first, in chunks, no page is overwritten before it was
// read.
#define _GNU_SOURCE 1
#include "trace/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    OUT_PAGES = 64,
    PAGE_WORDS = RBT_PAGE_BYTES / 8,
    HEAD_WORDS = 2,
    AREA_WORDS = PAGE_WORDS - HEAD_WORDS
};

_Static_assert(AREA_WORDS == 510, "a narrow page is two wide ones");

static RB_NOINLINE void fail_writer(struct rb_writer *w, int status)
{
    if (!w->failed)
        w->status = status;
    w->failed = true;
}

static void set_over(struct rb_writer *w)
{
    const struct rb_layout *l = &w->layout;

    w->target_over = l->record_bytes == 16 ? 0 : ~l->target_mask;
    w->thread_over = l->record_bytes == 16 ? ~UINT32_C(0xffff) : ~l->thread_mask;
    w->location_over = l->record_bytes == 16 ? ~(RB_MAX_LOCATIONS - 1) : ~l->location_mask;
}

static bool write_at(struct rb_writer *w, const void *data, uint64_t bytes, uint64_t offset)
{
    const unsigned char *from = data;

    while (bytes > 0 && !w->failed) {
        const ssize_t done = pwrite(w->fd, from, bytes, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            const int why = done < 0 ? errno : EIO;
            fail_writer(w,
                        rb_internal(w->error, "%s: cannot write at offset 0x%llx: %s%s", w->path,
                                    (unsigned long long)offset, strerror(why),
                                    why == ENOSPC || why == EDQUOT ? "; make room or write elsewhere" : ""));
            return false;
        }
        from += done;
        offset += (uint64_t)done;
        bytes -= (uint64_t)done;
    }
    return !w->failed;
}

static bool read_at(struct rb_writer *w, void *data, uint64_t bytes, uint64_t offset)
{
    unsigned char *to = data;

    while (bytes > 0) {
        const ssize_t done = pread(w->fd, to, bytes, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            fail_writer(w, rb_internal(w->error, "%s: cannot read back at offset 0x%llx: %s", w->path,
                                       (unsigned long long)offset,
                                       done < 0 ? strerror(errno)
                                                : "the file was truncated while being written"));
            return false;
        }
        to += done;
        offset += (uint64_t)done;
        bytes -= (uint64_t)done;
    }
    return true;
}

static bool write_header(struct rb_writer *w)
{
    uint64_t page[PAGE_WORDS] = {0};

    memcpy(page, &w->header, sizeof(w->header));
    const size_t words = offsetof(struct rbt_header, header_sum) / 8;
    page[words] = rb_sum(page, words, 0);
    w->header.header_sum = page[words];
    return write_at(w, page, sizeof(page), 0);
}

static void flush_pages(struct rb_writer *w)
{
    const uint64_t first = w->pages - w->out_pages;

    if (w->out_pages > 0)
        write_at(w, w->out, (uint64_t)w->out_pages * RBT_PAGE_BYTES, (first + 1) * RBT_PAGE_BYTES);
    w->out_pages = 0;
}

static void seal_page(uint64_t *page, uint32_t count, uint64_t index)
{
    struct rbt_page_head head = {.magic = RBT_PAGE_MAGIC, .count = count};

    head.sum = rb_sum(page + HEAD_WORDS, AREA_WORDS, index + 1);
    memcpy(page, &head, sizeof(head));
}

static RB_NOINLINE void page_done(struct rb_writer *w)
{
    const size_t filled = (size_t)w->used * w->layout.record_bytes / 8;

    memset(w->page + HEAD_WORDS + filled, 0, (AREA_WORDS - filled) * 8);
    seal_page(w->page, w->used, w->pages);
    w->header.events += w->used;
    if (w->header.events > RB_MAX_EVENTS)
        fail_writer(w,
                    rb_bad_input(w->error, "%s: more than 2^40 events, the most a trace may hold", w->path));
    w->pages++;
    w->used = 0;
    if (++w->out_pages == OUT_PAGES)
        flush_pages(w);
    w->page = (uint64_t *)(void *)(w->out + (size_t)w->out_pages * RBT_PAGE_BYTES);
}

RB_INLINE void append_event(struct rb_writer *w, const struct rb_event *event)
{
    rb_pack(&w->layout, event, w->page + HEAD_WORDS + (size_t)w->used * w->layout.record_bytes / 8);
    if (RB_UNLIKELY(++w->used == w->per_page))
        page_done(w);
}

// Turns the full narrow pages [begin, end) of the file into wide ones at twice their index.
static bool widen_chunk(struct rb_writer *w, uint64_t *narrow, uint64_t begin, uint64_t end)
{
    const struct rb_layout wide = {.record_bytes = 16};
    uint64_t *out = (uint64_t *)(void *)w->out;

    if (!read_at(w, narrow, (end - begin) * RBT_PAGE_BYTES, (begin + 1) * RBT_PAGE_BYTES))
        return false;
    for (uint64_t i = 0; i < end - begin; i++) {
        const uint64_t *from = narrow + i * PAGE_WORDS + HEAD_WORDS;
        for (uint64_t half = 0; half < 2; half++, from += AREA_WORDS / 2) {
            uint64_t *to = out + (2 * i + half) * PAGE_WORDS;
            for (size_t k = 0; k < AREA_WORDS / 2; k++) {
                const struct rb_event event = rb_unpack(&w->layout, &from[k], false);
                rb_pack(&wide, &event, to + HEAD_WORDS + 2 * k);
            }
            seal_page(to, AREA_WORDS / 2, 2 * (begin + i) + half);
        }
    }
    return write_at(w, out, 2 * (end - begin) * RBT_PAGE_BYTES, (2 * begin + 1) * RBT_PAGE_BYTES);
}

static void use_wide(struct rb_writer *w)
{
    rb_layout_set(&w->layout, 16, 0, 0, 0);
    w->header.record_bytes = 16;
    w->header.target_bits = w->header.thread_bits = w->header.location_bits = 0;
    w->per_page = rb_records_per_page(16);
    set_over(w);
}

static void widen_records(struct rb_writer *w)
{
    enum { CHUNK = OUT_PAGES / 2 };
    const struct rb_layout narrow = w->layout;
    const uint32_t rest = w->used;
    uint64_t last[AREA_WORDS];
    uint64_t *chunk = malloc((size_t)CHUNK * RBT_PAGE_BYTES);

    if (!chunk) {
        fail_writer(w, rb_internal(w->error, "%s: out of memory", w->path));
        return;
    }
    memcpy(last, w->page + HEAD_WORDS, rest * sizeof(last[0]));
    flush_pages(w);
    for (uint64_t end = w->pages, begin; end > 0 && !w->failed; end = begin) {
        begin = end > CHUNK ? end - CHUNK : 0;
        widen_chunk(w, chunk, begin, end);
    }
    free(chunk);
    if (w->failed)
        return;

    use_wide(w);
    w->pages *= 2;
    w->used = 0;
    w->page = (uint64_t *)(void *)w->out;
    write_header(w);
    for (uint32_t i = 0; i < rest; i++) {
        const struct rb_event event = rb_unpack(&narrow, &last[i], false);
        append_event(w, &event);
    }
}

// Makes room for an event that does not fit the layout. Returns true if it can be appended now; false after
// a failure.
static RB_NOINLINE bool make_room(struct rb_writer *w, const struct rb_event *event)
{
    if (w->failed)
        return false;
    if (event->thread >= RB_MAX_THREADS)
        fail_writer(w, rb_bad_input(w->error, "%s: thread number %u: a trace holds at most %u threads",
                                    w->path, event->thread, RB_MAX_THREADS));
    else if (event->location >= RB_MAX_LOCATIONS)
        fail_writer(w,
                    rb_bad_input(w->error, "%s: location number %u: a trace holds at most %u code locations",
                                 w->path, event->location, RB_MAX_LOCATIONS));
    else if (w->layout.record_bytes == 8)
        widen_records(w);
    return !w->failed;
}

// Counts the locks held now, for h.
static RB_NOINLINE void count_held(struct rb_writer *w, enum rb_op op)
{
    if (op == RB_ACQUIRE || op == RB_RD_ACQ)
        w->held++;
    else if (w->held > 0)
        w->held--;
    if (w->held > w->header.locks_held)
        w->header.locks_held = w->held;
}

void rb_writer_put(struct rb_writer *w, const struct rb_event *event, bool outermost)
{
    const uint64_t target = event->target;
    const uint32_t thread = event->thread, location = event->location;
    const enum rb_op op = event->op;

    if (RB_UNLIKELY(((target & w->target_over) | (thread & w->thread_over) | (location & w->location_over)) &&
                    !make_room(w, event)))
        return;
    if (RB_UNLIKELY(thread >= w->threads_seen))
        w->threads_seen = thread + 1;
    if (RB_UNLIKELY(location >= w->locations_seen))
        w->locations_seen = location + 1;
    if (RB_UNLIKELY(target >= w->targets_seen[op]))
        w->targets_seen[op] = target + 1;
    w->header.events_of[op]++;
    if (op >= RB_ACQUIRE && op <= RB_RD_REL && outermost)
        count_held(w, op);
    append_event(w, event);
}

static unsigned bits_for(uint64_t count)
{
    return count <= 2 ? 1 : 64 - (unsigned)__builtin_clzll(count - 1);
}

// Chooses the widths of the fields: the caller's hints, and the rest of the 58 bits spread so that a low
// estimate costs nothing. Hints that do not fit give wide records from the start.
static void choose_layout(struct rb_writer *w, const struct rb_writer_hint *hint)
{
    enum { TARGET, THREAD, LOCATION, FIELDS };
    static const unsigned usual[FIELDS] = {26, 13, 19}, most[FIELDS] = {56, 16, 24};
    const uint64_t wanted[FIELDS] = {hint ? hint->targets : 0, hint ? hint->threads : 0,
                                     hint ? hint->locations : 0};
    unsigned bits[FIELDS], sum = 0;

    for (int f = 0; f < FIELDS; f++) {
        bits[f] = wanted[f] ? bits_for(wanted[f]) : usual[f];
        sum += bits[f];
    }
    for (int f = 0; f < FIELDS && sum > RBT_OPCODE_SHIFT; f++) {
        while (wanted[f] == 0 && sum > RBT_OPCODE_SHIFT && bits[f] > 1) {
            bits[f]--;
            sum--;
        }
    }
    for (int f = 0, full = 0; sum < RBT_OPCODE_SHIFT && full < FIELDS; f = (f + 1) % FIELDS) {
        if (bits[f] < most[f]) {
            bits[f]++;
            sum++;
            full = 0;
        } else {
            full++;
        }
    }
    w->header.record_bytes = 8;
    w->header.target_bits = (uint8_t)bits[TARGET];
    w->header.thread_bits = (uint8_t)bits[THREAD];
    w->header.location_bits = (uint8_t)bits[LOCATION];
    w->per_page = rb_records_per_page(8);
    if (sum > RBT_OPCODE_SHIFT || !rb_layout_set(&w->layout, 8, bits[TARGET], bits[THREAD], bits[LOCATION]))
        use_wide(w);
    set_over(w);
}

int rb_writer_open(struct rb_writer *w, const char *path, int fd, const struct rb_writer_hint *hint,
                   struct rb_error *e)
{
    struct stat st;

    *w = (struct rb_writer){.path = path, .fd = fd, .by_name = false, .error = e};
    if (fd < 0) {
        // Truncated only after its kind is known; O_NONBLOCK so that a FIFO does not block.
        w->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
        if (w->fd < 0)
            return rb_bad_input(e, "%s: cannot create: %s", path, strerror(errno));
    }
    if (fstat(w->fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        fail_writer(w, rb_bad_input(e, "%s: not a regular file; a trace is written to a file on disk", path));
        rb_writer_abandon(w);
        return w->status;
    }
    w->by_name = fd < 0;
    if (ftruncate(w->fd, 0) != 0)
        fail_writer(w, rb_internal(e, "%s: cannot truncate: %s", path, strerror(errno)));
    w->out = malloc((size_t)OUT_PAGES * RBT_PAGE_BYTES);
    if (!w->out)
        fail_writer(w, rb_internal(e, "%s: out of memory", path));
    w->page = (uint64_t *)(void *)w->out;

    memcpy(w->header.magic, RBT_MAGIC, sizeof(w->header.magic));
    w->header.version = RBT_VERSION;
    choose_layout(w, hint);
    if (!w->failed)
        write_header(w);
    if (w->failed) {
        rb_writer_abandon(w);
        return w->status;
    }
    return 0;
}

void rb_writer_table(struct rb_writer *w, enum rbt_table table, uint64_t count, const void *names,
                     uint64_t bytes)
{
    struct rbt_table_head *t = &w->header.table[table];

    free(w->names[table]);
    w->names[table] = NULL;
    *t = (struct rbt_table_head){.count = count};
    w->table_set[table] = true;
    if (!names || bytes == 0)
        return;
    w->names[table] = calloc((bytes + 7) / 8, 8);
    if (!w->names[table]) {
        fail_writer(w, rb_internal(w->error, "%s: out of memory", w->path));
        return;
    }
    memcpy(w->names[table], names, bytes);
    t->bytes = bytes;
    t->sum = rb_sum(w->names[table], (bytes + 7) / 8, 0);
}

void rb_writer_aliases(struct rb_writer *w, const uint32_t *pairs, uint64_t count)
{
    free(w->aliases);
    w->aliases = NULL;
    w->header.aliases_count = count;
    w->header.aliases_sum = 0;
    if (count == 0)
        return;
    w->aliases = malloc(count * 8);
    if (!w->aliases) {
        fail_writer(w, rb_internal(w->error, "%s: out of memory", w->path));
        return;
    }
    memcpy(w->aliases, pairs, count * 8);
    w->header.aliases_sum = rb_sum((const uint64_t *)(const void *)w->aliases, count, 0);
}

// Finds the table sizes that the events need: fills in sizes that the caller left open, and checks the
// others.
static void settle_tables(struct rb_writer *w)
{
    static const char *const what[RBT_TABLES] = {"threads",   "locks",     "variables",
                                                 "locations", "functions", "marks"};
    uint64_t needed[RBT_TABLES] = {0};

    needed[RBT_THREADS] = w->threads_seen;
    needed[RBT_LOCATIONS] = w->locations_seen;
    for (int op = 0; op < RB_OPS; op++) {
        if (!rb_op_info[op].text) {
            if (w->header.events_of[op] != 0)
                fail_writer(w, rb_internal(w->error, "%s: event code %d has no meaning", w->path, op));
            continue;
        }
        uint64_t *n = &needed[rb_table_of_space[rb_op_info[op].space]];
        if (w->targets_seen[op] > *n)
            *n = w->targets_seen[op];
    }
    for (int t = 0; t < RBT_TABLES && !w->failed; t++) {
        struct rbt_table_head *head = &w->header.table[t];
        const uint64_t most = t == RBT_THREADS     ? RB_MAX_THREADS
                              : t == RBT_LOCATIONS ? RB_MAX_LOCATIONS
                              : head->bytes        ? head->bytes
                                                   : RBT_MAX_UNNAMED(w->header.events);
        if (!w->table_set[t])
            head->count = needed[t];
        if (head->count > most)
            fail_writer(w,
                        rb_bad_input(w->error,
                                     "%s: %llu %s, more than the %llu a trace of this size may have", w->path,
                                     (unsigned long long)head->count, what[t], (unsigned long long)most));
        else if (head->count < needed[t])
            fail_writer(w,
                        rb_internal(w->error, "%s: events use %llu %s, the table has %llu", w->path,
                                    (unsigned long long)needed[t], what[t], (unsigned long long)head->count));
    }
}

// Writes one table at `*at` (a multiple of 8), padded, and moves on.
static uint64_t write_table(struct rb_writer *w, const void *data, uint64_t bytes, uint64_t *at)
{
    const uint64_t offset = *at, padded = (bytes + 7) & ~UINT64_C(7);

    if (bytes == 0)
        return 0;
    write_at(w, data, padded, offset);
    *at += padded;
    return offset;
}

static void release_writer(struct rb_writer *w)
{
    for (int t = 0; t < RBT_TABLES; t++) {
        free(w->names[t]);
        w->names[t] = NULL;
    }
    free(w->aliases);
    free(w->out);
    w->aliases = NULL;
    w->out = NULL;
    w->fd = -1;
}

int rb_writer_finish(struct rb_writer *w, uint64_t threads_run, uint32_t flags)
{
    struct rbt_header *h = &w->header;

    if (!w->failed && w->used > 0)
        page_done(w);
    if (!w->failed)
        flush_pages(w);
    if (!w->failed)
        settle_tables(w);
    if (!w->failed && threads_run > h->table[RBT_THREADS].count)
        fail_writer(w, rb_internal(w->error, "%s: %llu threads ran, the table has %llu", w->path,
                                   (unsigned long long)threads_run,
                                   (unsigned long long)h->table[RBT_THREADS].count));

    uint64_t at = (w->pages + 1) * RBT_PAGE_BYTES;
    for (int t = 0; t < RBT_TABLES && !w->failed; t++)
        h->table[t].offset = write_table(w, w->names[t], h->table[t].bytes, &at);
    if (!w->failed)
        h->aliases_offset = write_table(w, w->aliases, h->aliases_count * 8, &at);

    h->accesses = h->events_of[RB_READ] + h->events_of[RB_WRITE];
    h->threads_run = threads_run;
    h->flags = flags | RBT_FINISHED;
    if (!w->failed)
        write_header(w);
    // Some file systems report a full disk only here.
    if (!w->failed && w->by_name && close(w->fd) != 0) {
        w->fd = -1;
        fail_writer(w, rb_internal(w->error, "%s: cannot write: %s", w->path, strerror(errno)));
        unlink(w->path);
    }
    if (w->failed) {
        rb_writer_abandon(w);
        return w->status;
    }
    release_writer(w);
    return 0;
}

void rb_writer_abandon(struct rb_writer *w)
{
    struct stat ours, named;

    if (w->fd >= 0) {
        // Only the file made here: the name may belong to another file by now.
        if (w->by_name && fstat(w->fd, &ours) == 0 && lstat(w->path, &named) == 0 &&
            ours.st_dev == named.st_dev && ours.st_ino == named.st_ino)
            unlink(w->path);
        close(w->fd);
    }
    release_writer(w);
}
