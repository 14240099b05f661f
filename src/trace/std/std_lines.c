// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The text is read in blocks, never mapped: a file that shrinks is an error and not a signal. A line is
// found and split by comparing 16 bytes at a time. A newline behind the block's end bounds every search,
// and RB_STD_PAD bytes behind it may be read.
//
// Eight blocks of 64 KiB: enough that neither thread sleeps each time the other is a little slower. Fewer
// or smaller blocks are slower; larger ones take more memory and are no faster.
#define _GNU_SOURCE 1
#include "trace/std/std_lines.h"

#include <emmintrin.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    BLOCK = 1 << 16,
    REST = RB_STD_MAX_LINE + 1,        // the longest line and '\r'
    ROOM = REST + BLOCK,               // for text in a chunk
    MIN_LINE = 5,                      // an event has two '|', an operation, a location and a newline
    MOST_EVENTS = ROOM / MIN_LINE + 1, // the last line may lack its newline
};

_Static_assert(RB_STD_MAX_LINE <= UINT16_MAX + 1, "offsets in a line have 16 bits");

// ---- lines ---------------------------------------------------------------------------------------------

// The bounds of a line and of its '|'.
struct split {
    uint32_t length, first, last;
    unsigned pipes;
};

// Returns bit i if line[i] is the character, for the first 32.
RB_INLINE uint32_t mask32(__m128i low, __m128i high, char c)
{
    const __m128i wanted = _mm_set1_epi8(c);

    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(low, wanted)) |
           (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(high, wanted)) << 16;
}

// Splits lines of any length and form. The search ends at a newline, the line's or the one added behind the
// text.
static RB_NOINLINE void split_any(const char *line, struct split *s)
{
    *s = (struct split){0};
    for (uint32_t at = 0;; at += 32) {
        const __m128i low = _mm_loadu_si128((const __m128i *)(const void *)(line + at));
        const __m128i high = _mm_loadu_si128((const __m128i *)(const void *)(line + at + 16));
        const uint32_t ends = mask32(low, high, '\n');
        const uint32_t pipes = mask32(low, high, '|') & (ends ? ends ^ (ends - 1) : UINT32_MAX);
        if (pipes) {
            if (s->pipes == 0)
                s->first = at + (uint32_t)__builtin_ctz(pipes);
            s->last = at + 31 - (uint32_t)__builtin_clz(pipes);
            s->pipes += (unsigned)__builtin_popcount(pipes);
        }
        if (ends) {
            s->length = at + (uint32_t)__builtin_ctz(ends);
            return;
        }
    }
}

RB_INLINE void split_line(const char *line, struct split *s)
{
    const __m128i low = _mm_loadu_si128((const __m128i *)(const void *)line);
    const __m128i high = _mm_loadu_si128((const __m128i *)(const void *)(line + 16));
    const uint32_t ends = mask32(low, high, '\n');
    const uint32_t first = mask32(low, high, '|') & (ends ^ (ends - 1)); // those before the end
    const uint32_t second = first & (first - 1);

    if (RB_UNLIKELY(ends == 0 || second == 0 || (second & (second - 1)) != 0)) {
        split_any(line, s);
        return;
    }
    s->length = (uint32_t)__builtin_ctz(ends);
    s->pipes = 2;
    s->first = (uint32_t)__builtin_ctz(first);
    s->last = (uint32_t)__builtin_ctz(second);
}

static RB_NOINLINE int too_long(const struct rb_std_lines *s, struct rb_std_chunk *c)
{
    return rb_bad_input(&c->error, "%s:%" PRIu64 ": a line of more than %u bytes; is this STD text?", s->path,
                        c->before + c->lines, RB_STD_MAX_LINE);
}

// Handles a line that is no event: blank, a comment, or an error.
static RB_NOINLINE int other_line(const struct rb_std_lines *s, struct rb_std_chunk *c, const char *line,
                                  uint32_t length)
{
    uint32_t i = 0;

    if (length > RB_STD_MAX_LINE)
        return too_long(s, c);
    while (i < length && (line[i] == ' ' || line[i] == '\t'))
        i++;
    if (i == length) {
        c->blank++;
        return 0;
    }
    if (line[0] == '#' || (length >= 2 && line[0] == '/' && line[1] == '/')) {
        c->comments++;
        return 0;
    }
    return rb_std_explain(s->path, c->before + c->lines, line, length, &c->error);
}

RB_INLINE void put_event(struct rb_std_event *to, const struct rb_std_line *l, uint32_t at, uint32_t number)
{
    *to = (struct rb_std_event){
        .thread = rb_intern_key_of(l->thread, l->thread_length),
        .target = rb_intern_key_of(l->target, l->target_length),
        .at = at,
        .line = number,
        .location = l->location,
        .target_at = (uint16_t)(l->target - l->thread),
        .op = (uint8_t)l->op,
        .table = (uint8_t)rb_table_of_space[rb_op_info[l->op].space],
    };
}

// Splits the lines of the chunk, up to the first error. A line that has no newline of its own is left
// unless the chunk is the last; `*done` is where it starts. (Values that change with each line are kept in
// locals: the events are stored through a pointer, and each field of the chunk would be loaded again.)
static int take_apart(const struct rb_std_lines *s, struct rb_std_chunk *c, size_t *done)
{
    const char *const text = c->text;
    const size_t length = c->length;
    const bool last = c->last;
    struct rb_std_event *to = c->events;
    uint32_t number = 0;
    size_t at = 0;
    int status = 0;

    while (at < length && status == 0) {
        const size_t start = at;
        const char *line = text + at;
        struct rb_std_line l;
        struct split f;

        split_line(line, &f);
        if (RB_UNLIKELY(at + f.length >= length && !last))
            break;
        at += f.length + 1;
        f.length -= f.length > 0 && line[f.length - 1] == '\r';
        number++;
        if (RB_LIKELY(f.pipes >= 2 && f.length <= RB_STD_MAX_LINE &&
                      rb_std_parse(line, f.length, f.first, f.last, f.pipes, &l))) {
            put_event(to++, &l, (uint32_t)start, number);
        } else {
            c->lines = number;
            status = other_line(s, c, line, f.length);
        }
    }
    c->lines = number;
    c->count = (uint32_t)(to - c->events);
    *done = at < length ? at : length;
    return status;
}

// ---- chunks --------------------------------------------------------------------------------------------

// Appends a block of the file. At the start it reads enough bytes to recognise the kind of file.
static int read_block(struct rb_std_lines *s, struct rb_std_chunk *c)
{
    do {
        ssize_t got;
        do
            got = read(s->fd, c->text + c->length, BLOCK);
        while (got < 0 && errno == EINTR);
        if (got < 0)
            return rb_internal(&c->error, "%s: cannot read: %s", s->path, strerror(errno));
        c->length += (size_t)got;
        c->last = got == 0;
    } while (!s->started && c->length < 8 && !c->last);

    if (!s->started && c->length >= 8 && memcmp(c->text, RBT_MAGIC, 8) == 0)
        return rb_bad_input(&c->error, "%s: this is a Railbird trace already, expected STD text", s->path);
    if (!s->started && c->length >= 3 && memcmp(c->text, "\xef\xbb\xbf", 3) == 0) {
        c->length -= 3;
        memmove(c->text, c->text + 3, c->length);
    }
    s->started = true;
    return 0;
}

static int fill_chunk(struct rb_std_lines *s, struct rb_std_chunk *c)
{
    size_t done = 0;
    int status;

    memcpy(c->text, s->rest, s->rest_bytes);
    c->length = s->rest_bytes;
    c->before = s->line;
    c->count = 0;
    c->lines = c->blank = c->comments = 0;
    c->last = false;
    if ((status = read_block(s, c)) < 0)
        return status;

    // At the end of the file the last line may lack its newline; then the added one counts.
    memset(c->text + c->length, 0, RB_STD_PAD);
    c->text[c->length] = '\n';
    if ((status = take_apart(s, c, &done)) < 0)
        return status;
    s->line += c->lines;
    s->rest_bytes = c->length - done;
    if (s->rest_bytes > REST) {
        c->lines++;
        return too_long(s, c);
    }
    memcpy(s->rest, c->text + done, s->rest_bytes);
    return 0;
}

static void fill_or_end(struct rb_std_lines *s, struct rb_std_chunk *c)
{
    c->status = fill_chunk(s, c);
    c->last = c->last || c->status < 0;
}

static void *read_chunks(void *argument)
{
    struct rb_std_lines *s = argument;
    bool go = true;

    for (uint32_t turn = 0; go; turn = (turn + 1) % RB_STD_CHUNKS) {
        struct rb_std_chunk *c = &s->chunk[turn];
        if (!rb_handoff_await_empty(&s->handoff, turn))
            break;
        fill_or_end(s, c);
        go = !c->last;
        rb_handoff_filled(&s->handoff, turn);
    }
    return NULL;
}

static bool chunk_init(struct rb_std_chunk *c)
{
    char *text = malloc(RB_STD_PAD + ROOM + RB_STD_PAD);

    // Zeros, so that events behind the last one have valid fields.
    c->events = calloc(MOST_EVENTS + RB_STD_AHEAD, sizeof(c->events[0]));
    if (text) {
        memset(text, 0, RB_STD_PAD);
        c->text = text + RB_STD_PAD;
    }
    return text && c->events;
}

int rb_std_lines_start(struct rb_std_lines *s, const char *path, int fd, uint64_t bytes, struct rb_error *e)
{
    const bool small = bytes <= RB_STD_CHUNKS * BLOCK; // a thread costs more than it saves

    *s = (struct rb_std_lines){.path = path, .fd = fd};
    rb_handoff_init(&s->handoff);
    s->rest = malloc(REST);
    bool enough = s->rest != NULL;
    for (uint32_t i = 0; i < (small ? 1 : RB_STD_CHUNKS); i++)
        enough = enough && chunk_init(&s->chunk[i]);
    if (!enough)
        return rb_internal(e, "%s:0: out of memory", path);
    s->threaded = !small && pthread_create(&s->thread, NULL, read_chunks, s) == 0;
    return 0;
}

// Returns the chunk to be filled again.
static void give_back(struct rb_std_lines *s)
{
    if (!s->threaded)
        return; // there is only one
    rb_handoff_used(&s->handoff, s->turn);
    s->turn = (s->turn + 1) % RB_STD_CHUNKS;
}

const struct rb_std_chunk *rb_std_lines_next(struct rb_std_lines *s)
{
    if (s->handed) {
        if (s->chunk[s->turn].last)
            return NULL;
        give_back(s);
    }
    s->handed = true;

    struct rb_std_chunk *c = &s->chunk[s->turn];
    if (!s->threaded) {
        fill_or_end(s, c);
        return c;
    }
    rb_handoff_await_full(&s->handoff, s->turn);
    return c;
}

void rb_std_lines_stop(struct rb_std_lines *s)
{
    if (s->threaded) {
        rb_handoff_stop(&s->handoff);
        pthread_join(s->thread, NULL);
    }
    for (uint32_t i = 0; i < RB_STD_CHUNKS; i++) {
        free(s->chunk[i].text ? s->chunk[i].text - RB_STD_PAD : NULL);
        free(s->chunk[i].events);
    }
    free(s->rest);
    rb_handoff_destroy(&s->handoff);
}
