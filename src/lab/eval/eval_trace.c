// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A labelled trace: the check against its label, and the writer of smaller traces.
#include "lab/eval/eval_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "report/page.h"
#include "trace/lock_check.h"
#include "trace/writer.h"

// ---- check ---------------------------------------------------------------------------------------------

// Returns true if the label's text denotes this name. JSON is UTF-8; names need not be.
static bool is_called(const char *name, const char *label)
{
    char *clean = strcmp(name, label) != 0 ? rb_utf8(name) : NULL;
    const bool same = clean ? !strcmp(clean, label) : !strcmp(name, label);

    free(clean);
    return same;
}

int rb_eval_trace_check(const struct rb_events *t, struct rb_reader *r, const struct rb_eval_label *l,
                        struct rb_error *e)
{
    char scratch[32];
    const int status = rb_reader_load_names(r, e);

    if (status < 0)
        return status;
    if (l->events[1] >= t->count)
        return rb_bad_input(e, "%s: its label names event %" PRIu64 ", the trace has %" PRIu64, l->path,
                            l->events[1], t->count);
    const struct rb_event *side[2] = {&t->at[l->events[0]], &t->at[l->events[1]]};
    for (int i = 0; i < 2; i++) {
        if (side[i]->op > RB_WRITE)
            return rb_bad_input(e, "%s: its label names event %" PRIu64 ", which is '%s' and no access",
                                l->path, l->events[i], rb_op_info[side[i]->op].text);
        const char *name = rb_reader_name(r, RBT_VARIABLES, side[i]->target, scratch);
        if (!is_called(name, l->variable))
            return rb_bad_input(e, "%s: event %" PRIu64 " is an access to %s, its label says %s", l->path,
                                l->events[i], name, l->variable);
        name = rb_reader_name(r, RBT_THREADS, side[i]->thread, scratch);
        if (l->threads[i] && !is_called(name, l->threads[i]))
            return rb_bad_input(e, "%s: event %" PRIu64 " is of thread %s, its label says %s", l->path,
                                l->events[i], name, l->threads[i]);
    }
    const char kind[] = {side[0]->op == RB_WRITE ? 'w' : 'r', side[1]->op == RB_WRITE ? 'w' : 'r', 0};
    if (side[0]->thread == side[1]->thread || (side[0]->op != RB_WRITE && side[1]->op != RB_WRITE))
        return rb_bad_input(e, "%s: events %" PRIu64 " and %" PRIu64 " of its label cannot race: %s", l->path,
                            l->events[0], l->events[1],
                            side[0]->thread == side[1]->thread ? "they are of one thread" : "both read");
    for (uint64_t i = 0; i < t->count; i++)
        if (t->at[i].op <= RB_WRITE && t->at[i].target == side[0]->target && i != l->events[0] &&
            i != l->events[1])
            return rb_bad_input(e,
                                "%s: event %" PRIu64
                                " is an access to %s as well; expected the two of the label",
                                l->path, i, l->variable);
    if (l->kind && strcmp(l->kind, kind) != 0)
        return rb_bad_input(e, "%s: its race is of kind %s, its label says %s", l->path, kind, l->kind);
    for (size_t i = 0; i < l->negative_count; i++)
        if (l->negatives[i].events[1] >= t->count)
            return rb_bad_input(e, "%s: a negative names event %" PRIu64 ", the trace has %" PRIu64, l->path,
                                l->negatives[i].events[1], t->count);
    return 0;
}

// ---- write ---------------------------------------------------------------------------------------------

static void number_target(struct rb_eval_numbers *n, enum rbt_table table, uint64_t id)
{
    if (!n->map[table][id])
        n->map[table][id] = (uint32_t)++n->count[table];
}

int rb_eval_numbers_make(struct rb_eval_numbers *n, const struct rb_events *t, const bool *kept,
                         uint64_t last)
{
    bool has_last = false;

    *n = (struct rb_eval_numbers){0};
    for (int table = 0; table < RBT_TABLES; table++) {
        n->limit[table] = t->table[table];
        n->map[table] = calloc(t->table[table] + 1, sizeof(*n->map[table]));
        if (!n->map[table])
            return -ENOMEM;
    }
    for (uint64_t i = 0; i < t->count; i++) {
        const struct rb_event *e = &t->at[i];
        if (!kept[i])
            continue;
        number_target(n, RBT_THREADS, e->thread);
        number_target(n, RBT_LOCATIONS, e->location);
        if (e->op <= RB_WRITE && e->target == last)
            has_last = true;
        else
            number_target(n, rb_table_of_space[rb_op_info[e->op].space], e->target);
    }
    if (has_last)
        number_target(n, RBT_VARIABLES, last);
    return 0;
}

void rb_eval_numbers_free(struct rb_eval_numbers *n)
{
    for (int table = 0; table < RBT_TABLES; table++)
        free(n->map[table]);
    *n = (struct rb_eval_numbers){0};
}

static bool put_leb128(FILE *out, uint64_t v)
{
    for (; v > 127; v >>= 7)
        putc((int)(v & 127) | 128, out);
    return putc((int)v, out) != EOF;
}

// Writes the names of the entries in use, in the order of the new numbers.
static int name_table(struct rb_writer *w, const struct rb_eval_numbers *n, enum rbt_table table,
                      uint64_t count, const struct rb_reader *names)
{
    uint64_t *old = calloc(n->count[table] + 1, sizeof(*old));
    char *packed = NULL, scratch[32];
    size_t bytes = 0;
    FILE *out = open_memstream(&packed, &bytes);

    for (uint64_t i = 0; old && i < n->limit[table]; i++)
        if (n->map[table][i])
            old[n->map[table][i] - 1] = i;
    for (uint64_t i = 0; out && old && i < count; i++) {
        const char *name = rb_reader_name(names, table, old[i], scratch);
        put_leb128(out, strlen(name));
        fputs(name, out);
    }
    const bool written = out && fclose(out) == 0 && old;
    if (written)
        rb_writer_table(w, table, count, packed, bytes);
    free(packed);
    free(old);
    return written ? 0 : -ENOMEM;
}

int rb_eval_trace_write(const struct rb_event *events, uint64_t count, const struct rb_eval_numbers *n,
                        const struct rb_reader *names, const char *path, int fd, struct rb_error *e)
{
    bool *ran = calloc(n->count[RBT_THREADS] + 1, sizeof(*ran));
    struct rb_lock_table locks = {0};
    uint64_t threads = 0, variables = 0;
    struct rb_writer w;

    int status = rb_writer_open(&w, path, fd, NULL, e);
    if (status < 0) {
        free(ran);
        return status;
    }
    for (uint64_t i = 0; ran && i < count; i++) {
        const struct rb_event *event = &events[i];
        const bool lock = event->op >= RB_ACQUIRE && event->op <= RB_RD_REL;
        ran[event->thread] = true;
        if (event->op == RB_FORK)
            ran[event->target] = true;
        if (event->op <= RB_WRITE && event->target >= variables)
            variables = event->target + 1;
        rb_writer_put(&w, event,
                      lock && rb_lock_table_apply(&locks, event->op, event->thread, event->target) ==
                                  RB_LOCK_OUTER);
    }
    for (uint64_t i = 0; ran && i < n->count[RBT_THREADS]; i++)
        threads += ran[i];
    for (int table = 0; names && status == 0 && table < RBT_TABLES; table++)
        status = name_table(&w, n, (enum rbt_table)table,
                            table == RBT_VARIABLES ? variables : n->count[table], names);
    if (!names)
        rb_writer_table(&w, RBT_THREADS, n->count[RBT_THREADS], NULL, 0);
    if (!ran || locks.out_of_memory || status < 0) {
        rb_writer_abandon(&w);
        status = rb_internal(e, "%s: out of memory", path);
    } else {
        status = rb_writer_finish(&w, threads, 0);
    }
    rb_lock_table_free(&locks);
    free(ran);
    return status;
}
