// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A trace to STD text. Importing the text gives the same events with the same names again.
//
// Text cannot hold every name that a trace can. A name must have no '|' (except function names) and no line
// break, and a target must not be empty. One name twice would become one object. A line must not be longer
// than the reader takes. A name that breaks these rules gets `#` and its number behind it, other characters
// as '_', and is counted.
//
// A fork target without a thread line, beside a thread called T and that name, would be read back as an
// alias. Unless it is one, it is renamed likewise. Locations are integers in STD: if a trace has other
// names for them, their numbers are written.
#define _GNU_SOURCE 1
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "trace/intern.h"
#include "trace/std/std.h"
#include "trace/std/std_line.h"

enum { BUFFER = 1 << 18, SHORT_ENOUGH = 20000, SLACK = 256, SPARE = RB_STD_MAX_LINE + 4096 };

struct export
{
    struct rb_reader *r;
    struct rb_error *error;
    struct rb_intern names[RBT_TABLES]; // as written in the text; locations too
    bool named[RBT_TABLES];             // else by their numbers
    size_t longest;                     // longest name that is written whole
    unsigned char *ran;                 // threads with events, if needed
    uint64_t renamed, foreign;
    FILE *out;
    char *buffer, *at;
};

static int no_memory(struct export *x)
{
    return rb_internal(x->error, "%s: out of memory", x->r->path);
}

// ---- names ---------------------------------------------------------------------------------------------

static bool is_writable(const struct export *x, enum rbt_table table, const char *name, size_t length)
{
    if (length > x->longest || memchr(name, '\n', length) || (length == 0 && table != RBT_THREADS))
        return false;
    if (table == RBT_MARKS)
        return !memchr(name, '|', length) && rb_std_is_mark(name, (uint32_t)length);
    return table == RBT_FUNCTIONS || !memchr(name, '|', length);
}

// Finds the longest name to write whole. If a line has room for the longest thread and the longest target
// together, no name is cut: names from a text return unchanged. Else long names are cut.
static void find_longest(struct export *x)
{
    size_t thread = 0, target = 0;

    for (int t = 0; t < RBT_TABLES; t++) {
        const struct rb_names *names = &x->r->names[t];
        size_t *most = t == RBT_THREADS ? &thread : &target;
        for (uint64_t id = 0; names->bytes && id < names->count; id++) {
            const size_t length = strlen(names->bytes + names->offset[id]);
            *most = length > *most ? length : *most;
        }
    }
    target = target > thread ? target : thread; // of fork and join
    x->longest = thread + target + SLACK <= RB_STD_MAX_LINE ? RB_STD_MAX_LINE : SHORT_ENOUGH;
}

// Adds a name for entry `id` that can be written and that no other entry of the table has.
static bool add_renamed(struct export *x, enum rbt_table table, uint64_t id, const char *name, size_t length)
{
    struct rb_intern *t = &x->names[table];
    char text[RB_STD_MAX_LINE + 256];
    const uint32_t before = t->count;

    if (length > x->longest)
        length = x->longest;
    x->renamed++;
    // The other names are known by now, or come later and are then changed instead.
    for (unsigned more = 1; more < 64; more++) {
        size_t n = table == RBT_MARKS ? (size_t)sprintf(text, "mark(") : 0;
        for (size_t i = 0; i < length; i++)
            text[n++] = name[i] == '|' || name[i] == '\n' ? '_' : name[i];
        memset(text + n, '#', more);
        n += more;
        n += (size_t)sprintf(text + n, "%" PRIu64 "%s", id, table == RBT_MARKS ? ")" : "");
        memset(text + n, 0, RB_INTERN_PAD);
        if (rb_intern_add(t, text, (uint32_t)n) == RB_INTERN_NONE)
            return false;
        if (t->count > before)
            return true;
    }
    return false;
}

static int prepare_table(struct export *x, enum rbt_table table)
{
    const struct rb_names *names = &x->r->names[table];
    struct rb_intern *t = &x->names[table];

    if (!names->bytes)
        return 0;
    x->named[table] = true;
    for (uint64_t id = 0; id < names->count; id++) {
        const char *name = names->bytes + names->offset[id];
        const size_t length = strlen(name);
        const uint32_t before = t->count;
        char padded[64];
        bool good = is_writable(x, table, name, length);
        if (good && length + RB_INTERN_PAD <= sizeof(padded)) { // a lookup reads past the name
            memset(padded, 0, sizeof(padded));
            memcpy(padded, name, length);
            name = padded;
        }
        good = good && rb_intern_add(t, name, (uint32_t)length) != RB_INTERN_NONE;
        if (t->count == before && !add_renamed(x, table, id, names->bytes + names->offset[id], length))
            return no_memory(x);
    }
    return 0;
}

// Locations have names only if all are different integers in their shortest form.
static int prepare_locations(struct export *x)
{
    const struct rb_names *names = &x->r->names[RBT_LOCATIONS];
    struct rb_intern *t = &x->names[RBT_LOCATIONS];
    char text[16], scratch[32] = {0};
    int32_t value;

    if (!names->bytes)
        return 0;
    for (uint64_t id = 0; id < names->count; id++) {
        const char *name = names->bytes + names->offset[id];
        const size_t length = strlen(name);
        bool good = length < 12 && rb_std_location(name, (uint32_t)length, &value);
        if (good) {
            snprintf(text, sizeof(text), "%" PRId32, value);
            good = strcmp(text, name) == 0;
        }
        if (good) {
            memcpy(scratch, name, length + 1);
            if (rb_intern_add(t, scratch, (uint32_t)length) == RB_INTERN_NONE)
                return no_memory(x);
        }
        if (t->count != id + 1) {
            rb_intern_free(t);
            x->renamed += names->count;
            return 0;
        }
    }
    x->named[RBT_LOCATIONS] = true;
    return 0;
}

static int survey_threads(struct export *x)
{
    const bool wide = x->r->layout.record_bytes == 16;
    struct rb_page page;

    x->ran = calloc(rb_reader_count(x->r, RBT_THREADS) + 1, 1);
    if (!x->ran)
        return no_memory(x);
    for (uint64_t i = 0; i < x->r->pages; i++) {
        const int status = rb_reader_page(x->r, i, RB_READER_PAGES - 1, &page, x->error);
        if (status < 0)
            return status;
        for (uint32_t k = 0; k < page.count; k++)
            x->ran[rb_unpack(&x->r->layout, page.words + (wide ? 2 * k : k), wide).thread] = 1;
    }
    return 0;
}

// Finds the text of thread `id` as a fork or join target, such that an import reads it back as the same
// thread: its own name, that of the thread it stands for, or a new one.
static int prepare_forked(struct export *x, uint32_t id, uint32_t meant, uint32_t **say)
{
    struct rb_intern *t = &x->names[RBT_THREADS];
    char text[RB_STD_MAX_LINE + 256];
    uint32_t length;
    const char *name = rb_intern_name(t, id, &length);

    text[0] = 'T';
    memcpy(text + 1, name, length);
    memset(text + 1 + length, 0, RB_INTERN_PAD);
    const uint32_t with_t = rb_intern_find(t, text, length + 1);
    const bool taken = with_t != RB_INTERN_NONE; // the import would look at that thread
    if (meant == id && !taken)
        return 0;
    if (!x->ran) {
        const int status = survey_threads(x);
        if (status < 0)
            return status;
    }
    const uint32_t read_back =
        !x->ran[id] && taken && with_t < rb_reader_count(x->r, RBT_THREADS) && x->ran[with_t] ? with_t : id;
    if (read_back == meant)
        return 0;
    if (!*say) {
        const uint32_t count = (uint32_t)rb_reader_count(x->r, RBT_THREADS);
        *say = malloc(count * sizeof(**say));
        if (!*say)
            return no_memory(x);
        for (uint32_t i = 0; i < count; i++)
            (*say)[i] = i;
    }
    if (meant != id) {
        (*say)[id] = meant;
        return 0;
    }
    if (!add_renamed(x, RBT_THREADS, id, text + 1, length))
        return no_memory(x);
    (*say)[id] = t->count - 1;
    return 0;
}

// ---- text ----------------------------------------------------------------------------------------------

static int flush_text(struct export *x)
{
    const size_t n = (size_t)(x->at - x->buffer);

    x->at = x->buffer;
    if (fwrite(x->buffer, 1, n, x->out) != n)
        return rb_internal(x->error, "%s: cannot write the text: %s", x->r->path, strerror(errno));
    return 0;
}

static inline char *put_number(char *to, uint64_t value)
{
    char digits[20];
    int n = 0;

    do {
        digits[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    while (n > 0)
        *to++ = digits[--n];
    return to;
}

RB_INLINE char *put_name(const struct export *x, enum rbt_table table, uint64_t id, char *to)
{
    static const char letters[RBT_TABLES] = {
        [RBT_THREADS] = 'T', [RBT_LOCKS] = 'L', [RBT_VARIABLES] = 'V', [RBT_FUNCTIONS] = 'F'};
    uint32_t length;

    if (x->named[table]) {
        const char *name = rb_intern_name(&x->names[table], (uint32_t)id, &length);
        memcpy(to, name, length);
        return to + length;
    }
    if (letters[table])
        *to++ = letters[table];
    return put_number(to, id);
}

static char *put_mark(const struct export *x, uint64_t id, char *to)
{
    if (x->named[RBT_MARKS])
        return put_name(x, RBT_MARKS, id, to);
    return to + sprintf(to, "mark(%" PRIu64 ")", id);
}

static int bad_target(struct export *x, uint64_t number, const struct rb_event *event)
{
    return rb_bad_input(x->error, "%s: event %" PRIu64 ": %s of number %" PRIu64 ", which does not exist",
                        x->r->path, number, event->op == RB_MARK ? "mark" : rb_op_info[event->op].text,
                        event->target);
}

RB_INLINE int put_event(struct export *x, uint64_t number, struct rb_event *event, const uint32_t *say)
{
    const struct rb_op_info *info = &rb_op_info[event->op];
    char *to = x->at;

    if (RB_UNLIKELY(event->op >= RB_FIRST_NON_ACCESS)) {
        if (!rb_reader_target_ok(x->r, event))
            return bad_target(x, number, event);
        if (say && info->space == RB_SPACE_THREAD)
            event->target = say[event->target];
        x->foreign += !info->rapid;
    }
    to = put_name(x, RBT_THREADS, event->thread, to);
    *to++ = '|';
    if (RB_UNLIKELY(event->op == RB_MARK)) {
        to = put_mark(x, event->target, to);
    } else {
        for (const char *c = info->text; *c; c++)
            *to++ = *c;
        *to++ = '(';
        to = put_name(x, rb_table_of_space[info->space], event->target, to);
        *to++ = ')';
    }
    *to++ = '|';
    to = put_name(x, RBT_LOCATIONS, event->location, to);
    *to++ = '\n';
    x->at = to;
    return x->at - x->buffer > BUFFER ? flush_text(x) : 0;
}

// Prefetches the names of variables some events ahead: they are scattered, and each is two dependent cache
// misses.
RB_INLINE void prefetch_name(const struct export *x, const struct rb_page *page, uint32_t k, bool wide)
{
    enum { FAR = 24, NEAR = 12 };
    const struct rb_intern *t = &x->names[RBT_VARIABLES];
    struct rb_event event;

    if (k + FAR >= page->count)
        return;
    event = rb_unpack(&x->r->layout, page->words + (wide ? 2 * (k + FAR) : k + FAR), wide);
    if (event.op < RB_FIRST_NON_ACCESS)
        __builtin_prefetch(&t->offset[event.target]);
    event = rb_unpack(&x->r->layout, page->words + (wide ? 2 * (k + NEAR) : k + NEAR), wide);
    if (event.op < RB_FIRST_NON_ACCESS)
        __builtin_prefetch(&t->packed[t->offset[event.target]]);
}

static int put_events(struct export *x, const uint32_t *say)
{
    const bool wide = x->r->layout.record_bytes == 16;
    struct rb_page page;

    for (uint64_t i = 0; i < x->r->pages; i++) {
        int status = rb_reader_page(x->r, i, RB_READER_PAGES - 1, &page, x->error);
        for (uint32_t k = 0; k < page.count && status == 0; k++) {
            struct rb_event event = rb_unpack(&x->r->layout, page.words + (wide ? 2 * k : k), wide);
            if (x->named[RBT_VARIABLES])
                prefetch_name(x, &page, k, wide);
            // An import drops a byte order mark at the start; a mark that belongs to a name is doubled.
            if (i == 0 && k == 0 && x->named[RBT_THREADS]) {
                char *end = put_name(x, RBT_THREADS, event.thread, x->at);
                if (end - x->at >= 3 && memcmp(x->at, "\xef\xbb\xbf", 3) == 0)
                    x->at += 3;
            }
            status = put_event(x, page.first + k, &event, say);
        }
        if (status < 0)
            return status;
    }
    return flush_text(x);
}

int rb_std_export(struct rb_reader *r, FILE *out, uint64_t *foreign, uint64_t *renamed, struct rb_error *e)
{
    struct export x = {.r = r, .error = e, .out = out};
    uint32_t *say = NULL;
    int status = rb_reader_load_names(r, e);

    x.buffer = x.at = malloc(BUFFER + SPARE);
    if (status == 0 && !x.buffer)
        status = no_memory(&x);
    if (status == 0)
        find_longest(&x);
    for (int t = 0; t < RBT_TABLES && status == 0; t++)
        status = t == RBT_LOCATIONS ? prepare_locations(&x) : prepare_table(&x, (enum rbt_table)t);
    for (uint32_t t = 0; t < rb_reader_count(r, RBT_THREADS) && x.named[RBT_THREADS] && status == 0; t++)
        status = prepare_forked(&x, t, rb_reader_thread(r, t), &say);
    if (status == 0)
        status = put_events(&x, x.named[RBT_THREADS] ? say : r->alias);
    if (status == 0 && fflush(out) != 0)
        status = rb_internal(e, "%s: cannot write the text: %s", r->path, strerror(errno));
    *foreign = x.foreign;
    *renamed = x.renamed;
    for (int t = 0; t < RBT_TABLES; t++)
        rb_intern_free(&x.names[t]);
    free(x.buffer);
    free(x.ran);
    free(say);
    return status;
}
