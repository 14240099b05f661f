// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// STD text to a trace, in one pass over the file. Names and locations are numbered in the order of their
// appearance. Facts that only the whole file gives are settled at the end: fork and join targets that name
// no thread, and the tables. Memory grows with the names, not with the events.
//
// std_lines.c reads the text and splits the lines, on another core if it can; this file numbers, checks and
// writes them.
#define _GNU_SOURCE 1
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/intern.h"
#include "trace/lock_check.h"
#include "trace/std/std.h"
#include "trace/std/std_lines.h"

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

    uint64_t line; // number of the current one, from 1
    uint64_t events;
};

static int out_of_memory(struct import *m)
{
    return rb_internal(m->error, "%s:%" PRIu64 ": out of memory", m->path, m->line);
}

// ---- events --------------------------------------------------------------------------------------------

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

// Checks a new name once, when it gets its number; known names cost a lookup.
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

static RB_NOINLINE int report_misuse(struct import *m, enum rb_op op, uint32_t by, uint32_t lock,
                                     uint32_t owner, enum rb_lock_verdict verdict)
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
    const char *name = rb_intern_name(&m->names[RBT_THREADS], by, &length);
    rb_std_show(name, length, thread, sizeof(thread));
    if (owner != 0) {
        name = rb_intern_name(&m->names[RBT_THREADS], owner - 1, &length);
        rb_std_show(name, length, holder, sizeof(holder) - 9);
        strcat(holder, " holds it");
    } else if (op == RB_RD_REL) {
        strcpy(holder, "that thread has not read-locked it");
    }
    name = rb_intern_name(&m->names[RBT_LOCKS], lock, &length);
    rb_std_show(name, length, target, sizeof(target));
    return rb_bad_input(m->error, "%s:%" PRIu64 ": %s by %s of lock %s, but %s; --lenient keeps such events",
                        m->path, m->line, rb_op_info[op].text, thread, target, holder);
}

// Applies the lock discipline. `outermost`: the lock changed hands.
static RB_NOINLINE int apply_lock(struct import *m, enum rb_op op, uint32_t thread, uint32_t lock,
                                  bool *outermost)
{
    enum rb_lock_verdict verdict;
    uint32_t owner = 0;

    if (op == RB_ACQUIRE || op == RB_RELEASE) {
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
        verdict = rb_lock_apply(&m->mutexes[lock], op, thread);
    } else {
        verdict = rb_lock_table_apply(&m->readers, op, thread, lock);
        if (m->readers.out_of_memory)
            return out_of_memory(m);
    }
    *outermost = verdict == RB_LOCK_OUTER;
    return verdict == RB_LOCK_OUTER || verdict == RB_LOCK_INNER
               ? 0
               : report_misuse(m, op, thread, lock, owner, verdict);
}

RB_INLINE int add_event(struct import *m, const struct rb_std_chunk *c, const struct rb_std_event *from)
{
    const enum rb_op op = (enum rb_op)from->op;
    const char *line = c->text + from->at;
    struct rb_event event = {.op = op};
    bool outermost = false;
    uint32_t target;
    int status;

    m->line = c->before + from->line;
    if ((status = name_get(m, RBT_THREADS, &from->thread, line, &event.thread)) < 0 ||
        (status = name_get(m, from->table, &from->target, line + from->target_at, &target)) < 0 ||
        (status = location_get(m, from->location, &event.location)) < 0)
        return status;
    m->threads[event.thread].ran = true;
    if (RB_UNLIKELY(op >= RB_FIRST_NON_ACCESS)) {
        if (op <= RB_RD_REL && (status = apply_lock(m, op, event.thread, target, &outermost)) < 0)
            return status;
        if (op == RB_FORK)
            m->threads[target].forked = true;
        else if (op == RB_MARK)
            m->notes->marks++;
    }
    event.target = target;
    m->events++;
    rb_writer_put(m->writer, &event, outermost);
    return 0;
}

// Looks ahead, so that the lookups of several events overlap: with a million names each is a cache miss.
static int add_chunk(struct import *m, const struct rb_std_chunk *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        const struct rb_std_event *later = &c->events[i + RB_STD_AHEAD];
        rb_intern_prefetch(&m->names[later->table], &later->target);
        rb_int_prefetch(&m->locations, later->location);
        const int status = add_event(m, c, &c->events[i]);
        if (RB_UNLIKELY(status < 0))
            return status;
        if (RB_UNLIKELY(m->writer->failed))
            return m->writer->status;
    }
    m->line = c->before + c->lines;
    m->notes->blank += c->blank;
    m->notes->comments += c->comments;
    if (c->status < 0)
        *m->error = c->error;
    return c->status;
}

static int import_text(struct import *m, int fd, uint64_t bytes)
{
    struct rb_std_lines lines;
    const struct rb_std_chunk *c;
    int status = rb_std_lines_start(&lines, m->path, fd, bytes, m->error);

    while (status == 0 && (c = rb_std_lines_next(&lines)))
        status = add_chunk(m, c);
    rb_std_lines_stop(&lines);
    return status;
}

// ---- the end -------------------------------------------------------------------------------------------

// Finds targets of fork and join that no line has as its thread, if a thread is called T and that name.
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

// Returns true for the names that a table without names would have: they need not be stored.
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

static int finish_import(struct import *m)
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
    // O_NONBLOCK: a FIFO without a writer must be refused, and not block.
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        status = rb_bad_input(e, "%s: cannot open: %s", path, strerror(errno));
    else if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        status = rb_bad_input(e, "%s: %s, expected a file of STD text", path,
                              S_ISDIR(st.st_mode) ? "is a directory" : "is not a regular file");
    else if ((status = import_text(m, fd, (uint64_t)st.st_size)) == 0)
        status = finish_import(m);
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
        free(m);
    }
    return status;
}
