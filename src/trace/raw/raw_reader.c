// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/raw/raw_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int read_at(const struct rb_raw *r, void *to, size_t bytes, uint64_t at, struct rb_error *e)
{
    char *out = to;

    while (bytes > 0) {
        const ssize_t n = pread(r->fd, out, bytes, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return rb_internal(e, "%s: cannot read at offset 0x%" PRIx64 ": %m", r->path, at);
        if (n == 0)
            return rb_bad_input(e, "%s: ends at offset 0x%" PRIx64 ", where records are expected", r->path,
                                at);
        out += n;
        at += (uint64_t)n;
        bytes -= (size_t)n;
    }
    return 0;
}

// Grows an array to hold one more; the sizes are powers of two.
static bool make_room(void **array, uint32_t count, size_t size)
{
    if (count & (count - 1))
        return true;
    void *bigger = realloc(*array, (count ? 2 * (size_t)count : 1) * size);
    if (bigger)
        *array = bigger;
    return bigger != NULL;
}

static int no_memory(const struct rb_raw *r, struct rb_error *e)
{
    return rb_internal(e, "%s: out of memory", r->path);
}

// ---- opening -------------------------------------------------------------------------------------------

static int bad_chunk(const struct rb_raw *r, uint64_t at, const char *what, uint64_t found,
                     const char *expected, struct rb_error *e)
{
    return rb_bad_input(e, "%s: chunk at offset 0x%" PRIx64 ": %s %" PRIu64 ", expected %s", r->path, at,
                        what, found, expected);
}

static int add_module(struct rb_raw *r, uint64_t at, struct rb_error *e)
{
    struct rb_raw_module m;
    int status = read_at(r, &m, sizeof(m), at + sizeof(struct rb_raw_chunk), e);

    if (status < 0)
        return status;
    if (m.index != r->modules + 1)
        return bad_chunk(r, at, "module", m.index, "the next one", e);
    m.build_id[sizeof(m.build_id) - 1] = m.path[sizeof(m.path) - 1] = 0;
    if (!make_room((void **)&r->module, r->modules, sizeof(m)))
        return no_memory(r, e);
    r->module[r->modules++] = m;
    return 0;
}

static int add_span(struct rb_raw *r, uint64_t at, const struct rb_raw_chunk *c, struct rb_error *e)
{
    if (c->used > (c->bytes - sizeof(*c)) / 16)
        return bad_chunk(r, at, "records", c->used, "no more than it has room for", e);
    if (!make_room((void **)&r->span, r->spans, sizeof(*r->span)))
        return no_memory(r, e);
    r->span[r->spans++] = (struct rb_raw_span){at + sizeof(*c), c->used, c->thread, c->sequence, c->os_id};
    r->records += c->used;
    return 0;
}

// Walks the chunks. A unit without a magic number is skipped: its owner did not use it.
static int find_chunks(struct rb_raw *r, uint64_t size, struct rb_error *e)
{
    struct rb_raw_chunk c;
    int status = 0;

    for (uint64_t at = RB_RAW_UNIT; at + RB_RAW_UNIT <= size && status == 0; at += c.bytes) {
        status = read_at(r, &c, sizeof(c), at, e);
        if (status < 0)
            break;
        if (c.magic == 0) {
            c.bytes = RB_RAW_UNIT;
            continue;
        }
        if (c.magic != RB_RAW_CHUNK_MAGIC)
            status = bad_chunk(r, at, "magic number", c.magic, "that of a chunk", e);
        else if (c.bytes == 0 || c.bytes > RB_RAW_MOST || c.bytes % RB_RAW_UNIT)
            status = bad_chunk(r, at, "bytes", c.bytes, "a multiple of 4096 up to 65536", e);
        else if (c.bytes > size - at)
            status = bad_chunk(r, at, "bytes", c.bytes, "no more than the file has: it was cut off", e);
        else if (c.kind == RB_RAW_MODULE)
            status = add_module(r, at, e);
        else if (c.kind == RB_RAW_EVENTS)
            status = add_span(r, at, &c, e);
        else
            status = bad_chunk(r, at, "kind", c.kind, "1 or 2", e);
    }
    return status;
}

static int by_thread(const void *a, const void *b)
{
    const struct rb_raw_span *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static int find_threads(struct rb_raw *r, struct rb_error *e)
{
    if (r->spans)
        qsort(r->span, r->spans, sizeof(*r->span), by_thread);
    for (uint32_t i = 0; i < r->spans; i++) {
        struct rb_raw_thread *t = r->threads ? &r->thread[r->threads - 1] : NULL;
        if (!t || t->id != r->span[i].thread) {
            if (!make_room((void **)&r->thread, r->threads, sizeof(*r->thread)))
                return no_memory(r, e);
            t = &r->thread[r->threads++];
            *t = (struct rb_raw_thread){.id = r->span[i].thread, .os_id = r->span[i].os_id, .first = i};
        }
        if (r->span[i].sequence != i - t->first)
            return bad_chunk(r, r->span[i].at - sizeof(struct rb_raw_chunk), "sequence number",
                             r->span[i].sequence, "that of its thread's next chunk", e);
        t->last = i + 1;
        t->records += r->span[i].records;
        r->span[i].thread = r->threads - 1;
    }
    return 0;
}

int rb_raw_open(struct rb_raw *r, const char *path, struct rb_error *e)
{
    struct stat st;
    int status = 0;

    *r = (struct rb_raw){.path = path, .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (r->fd < 0)
        return rb_bad_input(e, "%s: cannot open: %m", path);
    if (fstat(r->fd, &st) < 0 || !S_ISREG(st.st_mode))
        status = rb_bad_input(e, "%s: not a regular file", path);
    else if (st.st_size < (off_t)RB_RAW_UNIT)
        status =
            rb_bad_input(e, "%s: %lld bytes, too short for a raw recording", path, (long long)st.st_size);
    if (status == 0)
        status = read_at(r, &r->header, sizeof(r->header), 0, e);
    if (status == 0 && memcmp(r->header.magic, RB_RAW_MAGIC, sizeof(r->header.magic)))
        status = rb_bad_input(e, "%s: not a raw recording (it does not begin with '" RB_RAW_MAGIC "')", path);
    if (status == 0 && r->header.version != RB_RAW_VERSION)
        status = rb_bad_input(e, "%s: raw recording of version %u, expected %u", path, r->header.version,
                              RB_RAW_VERSION);
    r->header.sampler[sizeof(r->header.sampler) - 1] = r->header.program[sizeof(r->header.program) - 1] = 0;
    if (status == 0)
        status = find_chunks(r, (uint64_t)st.st_size, e);
    if (status == 0)
        status = find_threads(r, e);
    if (status < 0)
        rb_raw_close(r);
    return status;
}

void rb_raw_close(struct rb_raw *r)
{
    free(r->span);
    free(r->thread);
    free(r->module);
    if (r->fd >= 0)
        close(r->fd);
    *r = (struct rb_raw){.fd = -1};
}

const struct rb_raw_module *rb_raw_place(const struct rb_raw *r, uint64_t place, uint64_t *offset)
{
    const uint64_t index = place >> RB_RAW_OFFSET_BITS;

    *offset = place & ((UINT64_C(1) << RB_RAW_OFFSET_BITS) - 1);
    return index >= 1 && index <= r->modules ? &r->module[index - 1] : NULL;
}

// ---- one thread ----------------------------------------------------------------------------------------

void rb_raw_start(const struct rb_raw *r, uint32_t thread, struct rb_raw_cursor *c)
{
    const struct rb_raw_thread *t = &r->thread[thread];

    *c = (struct rb_raw_cursor){.span = t->first, .end = t->last};
}

// Returns the next record, or NULL at the end (*status 0) and after a failure.
static const uint64_t *take_record(const struct rb_raw *r, struct rb_raw_cursor *c, struct rb_error *e,
                                   int *status)
{
    *status = 0;
    while (c->next == c->held) {
        if (c->span == c->end)
            return NULL;
        const struct rb_raw_span *s = &r->span[c->span];
        if (c->taken == s->records) {
            c->span++;
            c->taken = 0;
            continue;
        }
        c->held = s->records - c->taken < RB_RAW_BUFFER ? s->records - c->taken : RB_RAW_BUFFER;
        c->next = 0;
        c->at = s->at + 16 * (uint64_t)c->taken;
        c->taken += c->held;
        *status = read_at(r, c->word, 16 * (size_t)c->held, c->at, e);
        if (*status < 0) {
            c->held = 0;
            return NULL;
        }
    }
    return &c->word[2 * c->next++];
}

static bool has_size(unsigned op)
{
    return rb_raw_is_access(op) || op == RB_RAW_FORGET;
}

static bool is_event(unsigned op)
{
    return rb_raw_is_access(op) || (op >= RB_ACQUIRE && op <= RB_JOIN) || op == RB_ENTER || op == RB_EXIT ||
           (op >= RB_RAW_GONE && op <= RB_RAW_END);
}

static int bad_record(const struct rb_raw *r, const struct rb_raw_event *event, const char *what,
                      struct rb_error *e)
{
    return rb_bad_input(e, "%s: record at offset 0x%" PRIx64 " (code %u): %s", r->path, event->at, event->op,
                        what);
}

int rb_raw_next(const struct rb_raw *r, struct rb_raw_cursor *c, struct rb_raw_event *event,
                struct rb_error *e)
{
    const uint64_t *w;
    int status;

    while ((w = take_record(r, c, e, &status)) != NULL) {
        const uint64_t value = w[1] & RB_RAW_LOW48;
        *event = (struct rb_raw_event){.op = (uint8_t)rb_word_op(w[0]),
                                       .address = w[0] & RB_RAW_LOW48,
                                       .size = w[0] >> RB_RAW_ADDRESS_BITS & (RB_RAW_SIZES - 1),
                                       .value = value,
                                       .clock = c->tick | w[1] >> RB_RAW_ADDRESS_BITS,
                                       .at = c->at + 16 * (uint64_t)(c->next - 1),
                                       .generation = c->generation};
        if (event->op == RB_RAW_TICK) {
            c->tick = value << RB_RAW_CLOCK_BITS;
            c->ticked = true;
            continue;
        }
        if (event->op == RB_RAW_GENERATION) {
            c->generation = (uint32_t)value;
            continue;
        }
        if (!is_event(event->op))
            return bad_record(r, event, "not an event of a recording", e);
        if (!c->ticked)
            return bad_record(r, event, "expected a clock first (code 60)", e);
        if (has_size(event->op) && event->size == 0) {
            w = take_record(r, c, e, &status);
            if (status < 0)
                return status;
            if (!w || rb_word_op(w[0]) != (enum rb_op)RB_RAW_EXTENT)
                return bad_record(r, event, "expected its size in the next record (code 61)", e);
            event->size = w[1] & RB_RAW_LOW48;
        }
        if (event->address + event->size > RB_RAW_LOW48 || (has_size(event->op) && event->size == 0))
            return bad_record(r, event, "its bytes are outside the address space", e);
        return 1;
    }
    return status;
}
