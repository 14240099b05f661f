// STD text to a trace, in one pass over the file: names and locations are numbered in the order in which they
// appear, and what only the whole file can tell (fork and join targets that name no thread, the tables) is
// settled at the end. Memory grows with the names, not with the events.
//
// The text is read in blocks, never mapped: a file that shrinks is an error and not a signal. A line is found
// and split by comparing 16 bytes at a time; a newline behind the block's end bounds every search, and
// RB_STD_PAD bytes behind it may be read.
#define _GNU_SOURCE 1
#include <emmintrin.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/int_intern.h"
#include "trace/intern.h"
#include "trace/lock_check.h"
#include "trace/std.h"
#include "trace/std_line.h"

enum { BLOCK = 1 << 20, BATCH = 32 };

// Events are taken apart in batches and numbered a batch at a time, so that the lookups of all of them are
// under way together: with a million names each is a cache miss.
struct pending {
    struct rb_std_line line;
    struct rb_intern_key thread_key, target_key;
};

struct import {
    const char *path;
    struct rb_writer *writer;
    struct rb_std_notes *notes;
    struct rb_error *error;
    bool lenient;

    struct rb_intern names[RBT_TABLES]; // all but locations
    struct rb_int_intern locations;
    struct rb_lock_state *mutexes; // of each lock number
    uint32_t mutexes_capacity;
    struct rb_lock_table readers;
    struct {
        bool ran, forked;
    } threads[RB_MAX_THREADS];

    struct pending batch[BATCH]; // lines that follow each other, the last is number `line`
    uint32_t batched;

    uint64_t line; // number of the current one, from 1
    uint64_t events;
    char *text; // the block: padding, `length` bytes from the file (where it points), a newline, padding
    size_t length;
};

static int out_of_memory(struct import *m)
{
    return rb_internal(m->error, "%s:%" PRIu64 ": out of memory", m->path, m->line);
}

// -------------------------------------------------------------------------------------------------- events

static RB_NOINLINE int bad_name(struct import *m, enum rbt_table table, const char *name, uint32_t length,
                                uint32_t id)
{
    if (memchr(name, 0, length))
        return rb_bad_input(m->error, "%s:%" PRIu64 ": a name contains a NUL byte; is this a text file?",
                            m->path, m->line);
    if (id == RB_INTERN_NONE)
        return out_of_memory(m);
    return rb_bad_input(m->error, "%s:%" PRIu64 ": more than %u %s, the most a trace may have", m->path,
                        m->line, RB_MAX_THREADS, table == RBT_THREADS ? "threads" : "names");
}

static RB_NOINLINE int location_new(struct import *m, int32_t value, uint32_t *id)
{
    if (m->locations.count >= RB_MAX_LOCATIONS)
        return rb_bad_input(m->error,
                            "%s:%" PRIu64 ": more than %u different locations, the most a trace may have",
                            m->path, m->line, RB_MAX_LOCATIONS);
    *id = rb_int_add(&m->locations, value);
    return *id == RB_INTERN_NONE ? out_of_memory(m) : 0;
}

RB_INLINE int location_get(struct import *m, int32_t value, uint32_t *id)
{
    *id = rb_int_find(&m->locations, value);
    return RB_LIKELY(*id != RB_INTERN_NONE) ? 0 : location_new(m, value, id);
}

// A new name is checked once, when it gets its number; known ones cost a lookup.
RB_INLINE int name_get(struct import *m, enum rbt_table table, const struct rb_intern_key *key,
                       const char *name, uint32_t *id)
{
    struct rb_intern *t = &m->names[table];
    const uint32_t before = t->count;

    *id = rb_intern_get(t, key, name);
    if (RB_UNLIKELY(t->count != before || *id == RB_INTERN_NONE) &&
        (*id == RB_INTERN_NONE || memchr(name, 0, key->length) ||
         (table == RBT_THREADS && t->count > RB_MAX_THREADS)))
        return bad_name(m, table, name, key->length, *id);
    return 0;
}

static RB_NOINLINE int misuse(struct import *m, const struct rb_std_line *l, uint32_t lock, uint32_t owner,
                              enum rb_lock_verdict verdict)
{
    char thread[48], target[64], holder[48] = "no thread holds it";
    uint32_t length;

    if (m->lenient) {
        if (verdict == RB_LOCK_OVERLAP)
            m->notes->overlapping_acquire++;
        else
            m->notes->unmatched_release++;
        return 0;
    }
    if (owner != 0) {
        const char *name = rb_intern_name(&m->names[RBT_THREADS], owner - 1, &length);
        rb_std_show(name, length, holder, sizeof(holder) - 9);
        strcat(holder, " holds it");
    } else if (l->op == RB_RD_REL) {
        strcpy(holder, "that thread has not read-locked it");
    }
    const char *name = rb_intern_name(&m->names[RBT_LOCKS], lock, &length);
    rb_std_show(name, length, target, sizeof(target));
    return rb_bad_input(m->error, "%s:%" PRIu64 ": %s by %s of lock %s, but %s; --lenient keeps such events",
                        m->path, m->line, rb_op_info[l->op].text,
                        rb_std_show(l->thread, l->thread_length, thread, sizeof(thread)), target, holder);
}

// The lock discipline. `outermost`: the lock changed hands.
static RB_NOINLINE int apply_lock(struct import *m, const struct rb_std_line *l, uint32_t thread,
                                  uint32_t lock, bool *outermost)
{
    enum rb_lock_verdict verdict;
    uint32_t owner = 0;

    if (l->op == RB_ACQUIRE || l->op == RB_RELEASE) {
        if (lock >= m->mutexes_capacity) {
            const uint32_t capacity = lock < 512 ? 1024 : lock * 2;
            struct rb_lock_state *bigger = realloc(m->mutexes, capacity * sizeof(bigger[0]));
            if (!bigger)
                return out_of_memory(m);
            memset(bigger + m->mutexes_capacity, 0, (capacity - m->mutexes_capacity) * sizeof(bigger[0]));
            m->mutexes = bigger;
            m->mutexes_capacity = capacity;
        }
        owner = m->mutexes[lock].owner;
        verdict = rb_lock_apply(&m->mutexes[lock], l->op, thread);
    } else {
        verdict = rb_lock_table_apply(&m->readers, l->op, thread, lock);
        if (m->readers.out_of_memory)
            return out_of_memory(m);
    }
    *outermost = verdict == RB_LOCK_OUTER;
    return verdict == RB_LOCK_OUTER || verdict == RB_LOCK_INNER ? 0 : misuse(m, l, lock, owner, verdict);
}

RB_INLINE int add_event(struct import *m, const struct pending *p)
{
    const struct rb_std_line *l = &p->line;
    struct rb_event event = {.op = l->op};
    const enum rbt_table table = rb_table_of_space[rb_op_info[l->op].space];
    bool outermost = false;
    uint32_t target;
    int status;

    if ((status = name_get(m, RBT_THREADS, &p->thread_key, l->thread, &event.thread)) < 0 ||
        (status = name_get(m, table, &p->target_key, l->target, &target)) < 0 ||
        (status = location_get(m, l->location, &event.location)) < 0)
        return status;
    m->threads[event.thread].ran = true;
    if (RB_UNLIKELY(l->op >= RB_FIRST_NON_ACCESS)) {
        if (l->op <= RB_RD_REL && (status = apply_lock(m, l, event.thread, target, &outermost)) < 0)
            return status;
        if (l->op == RB_FORK)
            m->threads[target].forked = true;
        else if (l->op == RB_MARK)
            m->notes->marks++;
    }
    event.target = target;
    m->events++;
    rb_writer_put(m->writer, &event, outermost);
    return 0;
}

static RB_NOINLINE int add_batch(struct import *m)
{
    const uint64_t last = m->line;
    const uint32_t count = m->batched;

    m->batched = 0;
    for (uint32_t i = 0; i < count; i++) {
        m->line = last - (count - 1 - i);
        const int status = add_event(m, &m->batch[i]);
        if (RB_UNLIKELY(status < 0))
            return status;
    }
    return m->writer->failed ? m->writer->status : 0;
}

RB_INLINE int add_line(struct import *m)
{
    struct pending *p = &m->batch[m->batched];
    const struct rb_std_line *l = &p->line;

    p->thread_key = rb_intern_key_of(l->thread, l->thread_length);
    p->target_key = rb_intern_key_of(l->target, l->target_length);
    rb_intern_prefetch(&m->names[rb_table_of_space[rb_op_info[l->op].space]], &p->target_key);
    rb_int_prefetch(&m->locations, l->location);
    return ++m->batched == BATCH ? add_batch(m) : 0;
}

// --------------------------------------------------------------------------------------------------- lines

static RB_NOINLINE int too_long(struct import *m)
{
    return rb_bad_input(m->error, "%s:%" PRIu64 ": a line of more than %u bytes; is this STD text?", m->path,
                        m->line, RB_STD_MAX_LINE);
}

// A line that is no event: blank, a comment, or an error.
static RB_NOINLINE int other_line(struct import *m, const char *line, uint32_t length)
{
    uint32_t i = 0;

    if (length > RB_STD_MAX_LINE)
        return too_long(m);
    while (i < length && (line[i] == ' ' || line[i] == '\t'))
        i++;
    if (i == length) {
        m->notes->blank++;
        return 0;
    }
    if (line[0] == '#' || (length >= 2 && line[0] == '/' && line[1] == '/')) {
        m->notes->comments++;
        return 0;
    }
    return rb_std_explain(m->path, m->line, line, length, m->error);
}

// Where a line ends and its '|' are.
struct split {
    uint32_t length, first, last;
    unsigned pipes;
};

// Bit i set where line[i] is the character, for the first 32.
RB_INLINE uint32_t mask32(__m128i low, __m128i high, char c)
{
    const __m128i wanted = _mm_set1_epi8(c);

    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(low, wanted)) |
           (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(high, wanted)) << 16;
}

// For lines of any length and form: a newline is sure to come, be it our own.
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

// Reads the lines of the block; without `last`, one that has no newline of its own is left, and `*done` is
// where it starts.
static int import_lines(struct import *m, bool last, size_t *done)
{
    size_t at = 0;

    while (at < m->length) {
        const char *line = m->text + at;
        struct split s;
        int status;

        split_line(line, &s);
        if (RB_UNLIKELY(at + s.length >= m->length && !last))
            break;
        at += s.length + 1;
        s.length -= s.length > 0 && line[s.length - 1] == '\r';
        if (RB_LIKELY(s.pipes >= 2 && s.length <= RB_STD_MAX_LINE &&
                      rb_std_parse(line, s.length, s.first, s.last, s.pipes, &m->batch[m->batched].line))) {
            m->line++;
            status = add_line(m);
        } else if ((status = add_batch(m)) == 0) {
            m->line++;
            status = other_line(m, line, s.length);
        }
        if (RB_UNLIKELY(status < 0))
            return status;
    }
    // Before the text they point into moves.
    const int status = add_batch(m);
    if (status < 0)
        return status;
    *done = at < m->length ? at : m->length;
    return 0;
}

static int import_text(struct import *m, int fd)
{
    bool started = false, ended = false;

    while (!ended) {
        const ssize_t got = read(fd, m->text + m->length, BLOCK);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return rb_internal(m->error, "%s: cannot read: %s", m->path, strerror(errno));
        m->length += (size_t)got;
        ended = got == 0;
        if (!started && m->length < 8 && !ended)
            continue;
        if (!started && m->length >= 8 && memcmp(m->text, RBT_MAGIC, 8) == 0)
            return rb_bad_input(m->error, "%s: this is a Railbird trace already, expected STD text", m->path);
        if (!started && m->length >= 3 && memcmp(m->text, "\xef\xbb\xbf", 3) == 0) {
            memmove(m->text, m->text + 3, m->length - 3);
            m->length -= 3;
        }
        started = true;

        // At the end of the file the last line may lack its newline; the one we add then counts.
        memset(m->text + m->length, 0, RB_STD_PAD);
        m->text[m->length] = '\n';
        size_t done = 0;
        const int status = import_lines(m, ended, &done);
        if (status < 0)
            return status;
        m->length -= done;
        memmove(m->text, m->text + done, m->length);
        if (m->length > RB_STD_MAX_LINE + 1) {
            m->line++;
            return too_long(m);
        }
    }
    return 0;
}

// ------------------------------------------------------------------------------------------------- the end

// Targets of fork and join that no line has as its thread, where one calls itself T and that name.
static int find_aliases(struct import *m)
{
    struct rb_intern *t = &m->names[RBT_THREADS];
    uint32_t *pairs = malloc(((size_t)t->count * 2 + 1) * sizeof(pairs[0]));
    char *name = malloc(RB_STD_MAX_LINE + 2 + RB_INTERN_PAD);
    uint64_t count = 0, run = 0;
    int status = 0;

    if (!pairs || !name) {
        status = out_of_memory(m);
        goto out;
    }
    for (uint32_t id = 0; id < t->count; id++) {
        uint32_t length, meant = RB_INTERN_NONE;
        if (!m->threads[id].ran) {
            const char *bare = rb_intern_name(t, id, &length);
            name[0] = 'T';
            memcpy(name + 1, bare, length);
            meant = rb_intern_find(t, name, length + 1);
        }
        if (meant == RB_INTERN_NONE || !m->threads[meant].ran) {
            run += m->threads[id].ran || m->threads[id].forked;
            continue;
        }
        if (count == 0)
            rb_std_show(name + 1, length, m->notes->alias_example, sizeof(m->notes->alias_example));
        pairs[2 * count] = id;
        pairs[2 * count + 1] = meant;
        count++;
    }
    m->notes->aliased = count;
    rb_writer_aliases(m->writer, pairs, count);
    m->writer->header.threads_run = run;
out:
    free(pairs);
    free(name);
    return status;
}

// Names that are what a table without names would say anyway need not be stored.
static bool is_default(const struct rb_intern *t, char letter)
{
    char expected[16];

    for (uint32_t id = 0; id < t->count; id++) {
        uint32_t length;
        const char *name = rb_intern_name(t, id, &length);
        const int n = snprintf(expected, sizeof(expected), "%c%" PRIu32, letter, id);
        if ((uint32_t)n != length || memcmp(name, expected, length) != 0)
            return false;
    }
    return true;
}

static int write_locations(struct import *m)
{
    const struct rb_int_intern *l = &m->locations;
    unsigned char *packed = malloc((size_t)l->count * 12 + 16); // a length and at most 11 characters
    size_t bytes = 0;
    bool plain = true;

    if (!packed)
        return out_of_memory(m);
    for (uint32_t id = 0; id < l->count; id++) {
        const int n = snprintf((char *)packed + bytes + 1, 13, "%" PRId32, l->values[id]);
        packed[bytes] = (unsigned char)n;
        bytes += (size_t)n + 1;
        plain = plain && l->values[id] >= 0 && (uint32_t)l->values[id] == id;
    }
    rb_writer_table(m->writer, RBT_LOCATIONS, l->count, plain ? NULL : packed, plain ? 0 : bytes);
    free(packed);
    return 0;
}

static int finish(struct import *m)
{
    static const char letter[RBT_TABLES] = {[RBT_THREADS] = 'T',
                                            [RBT_LOCKS] = 'L',
                                            [RBT_VARIABLES] = 'V',
                                            [RBT_FUNCTIONS] = 'F',
                                            [RBT_MARKS] = '?'};
    int status = 0;

    if (m->events == 0)
        return rb_bad_input(m->error,
                            "%s: no events in %" PRIu64 " lines; expected THREAD|OPERATION(TARGET)|LOCATION",
                            m->path, m->line);
    if ((status = find_aliases(m)) < 0 || (status = write_locations(m)) < 0)
        return status;
    for (int t = 0; t < RBT_TABLES; t++) {
        const struct rb_intern *names = &m->names[t];
        if (t == RBT_LOCATIONS)
            continue;
        const bool plain = is_default(names, letter[t]);
        rb_writer_table(m->writer, (enum rbt_table)t, names->count, plain ? NULL : names->packed,
                        plain ? 0 : names->bytes);
    }
    return 0;
}

int rb_std_import(const char *path, struct rb_writer *w, bool lenient, struct rb_std_notes *notes,
                  struct rb_error *e)
{
    struct import *m = calloc(1, sizeof(*m));
    struct stat st;
    int status, fd = -1;

    *notes = (struct rb_std_notes){0};
    if (!m) {
        status = rb_internal(e, "%s: out of memory", path);
        goto out;
    }
    m->path = path;
    m->writer = w;
    m->notes = notes;
    m->error = e;
    m->lenient = lenient;
    m->text = malloc(RB_STD_PAD + RB_STD_MAX_LINE + 2 + BLOCK + RB_STD_PAD);
    if (m->text) {
        memset(m->text, 0, RB_STD_PAD);
        m->text += RB_STD_PAD;
    } else {
        status = out_of_memory(m);
        goto out;
    }
    // O_NONBLOCK: a FIFO without a writer must not hold us up before we can refuse it.
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        status = rb_bad_input(e, "%s: cannot open: %s", path, strerror(errno));
    else if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        status = rb_bad_input(e, "%s: %s, expected a file of STD text", path,
                              S_ISDIR(st.st_mode) ? "is a directory" : "is not a regular file");
    else if ((status = import_text(m, fd)) == 0)
        status = finish(m);
out:
    if (fd >= 0)
        close(fd);
    if (status == 0) {
        const bool kept = notes->unmatched_release + notes->overlapping_acquire > 0;
        notes->lines = m->line;
        status = rb_writer_finish(w, w->header.threads_run, kept ? RBT_LENIENT : 0);
    } else {
        rb_writer_abandon(w);
    }
    if (m) {
        for (int t = 0; t < RBT_TABLES; t++)
            rb_intern_free(&m->names[t]);
        rb_int_free(&m->locations);
        free(m->mutexes);
        rb_lock_table_free(&m->readers);
        free(m->text ? m->text - RB_STD_PAD : NULL);
        free(m);
    }
    return status;
}
