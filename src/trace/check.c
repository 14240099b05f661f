// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "trace/lock_check.h"

#define READ_AHEAD     63u
#define PROGRESS_PAGES 4096u

struct life { // of a thread
    uint64_t depth;
    bool ran, forked, joined;
};

struct checker {
    struct rb_reader *r;
    struct rb_check_notes *notes;
    struct rb_error *error;
    struct rb_lock_table locks;
    struct life *lives;
    uint64_t events_of[RB_OPS], accesses, held, most_held;
    bool lenient;
};

static int report_misuse(struct checker *c, const struct rb_event *e, uint64_t index, enum rb_lock_verdict v)
{
    char thread[32], lock[32];

    if (c->lenient) {
        if (v == RB_LOCK_OVERLAP)
            c->notes->overlapping_acquire++;
        else
            c->notes->unmatched_release++;
        return 0;
    }
    return rb_bad_input(c->error, "%s: event %" PRIu64 ": thread %s %s (%s); --lenient takes such traces",
                        c->r->path, index, rb_reader_name(c->r, RBT_THREADS, e->thread, thread),
                        rb_lock_misuse[v], rb_reader_name(c->r, RBT_LOCKS, e->target, lock));
}

static int lock_event(struct checker *c, const struct rb_event *e, uint64_t index)
{
    const enum rb_lock_verdict v = rb_lock_table_apply(&c->locks, e->op, e->thread, e->target);
    const bool taken = e->op == RB_ACQUIRE || e->op == RB_RD_ACQ;

    if (v >= RB_LOCK_NOT_HELD)
        return report_misuse(c, e, index, v);
    if (v == RB_LOCK_OUTER) {
        c->held = taken ? c->held + 1 : c->held - 1;
        if (c->held > c->most_held)
            c->most_held = c->held;
    }
    return 0;
}

static int check_event(struct checker *c, const struct rb_event *e, uint64_t index)
{
    struct life *me = &c->lives[e->thread];

    c->events_of[e->op]++;
    if (me->joined)
        c->notes->runs_after_join++;
    me->ran = true;
    if (e->op < RB_FIRST_NON_ACCESS) {
        c->accesses++;
        return 0;
    }
    if (!rb_reader_target_ok(c->r, e))
        return rb_bad_input(c->error, "%s: event %" PRIu64 ": target %" PRIu64 " of '%s' is in no table",
                            c->r->path, index, e->target, rb_op_info[e->op].text);
    switch (e->op) {
    case RB_ACQUIRE:
    case RB_RELEASE:
    case RB_RD_ACQ:
    case RB_RD_REL:
        return lock_event(c, e, index);
    case RB_FORK: {
        struct life *child = &c->lives[rb_reader_thread(c->r, e->target)];
        c->notes->runs_before_fork += child->ran && !child->forked;
        c->notes->forked_twice += child->forked;
        child->forked = true;
        return 0;
    }
    case RB_JOIN:
        c->lives[rb_reader_thread(c->r, e->target)].joined = true;
        return 0;
    case RB_ENTER:
        me->depth++;
        return 0;
    case RB_EXIT:
        if (me->depth)
            me->depth--;
        else
            c->notes->exit_without_enter++;
        return 0;
    default:
        return 0;
    }
}

static int compare_count(const struct checker *c, const char *what, uint64_t claimed, uint64_t counted)
{
    if (claimed == counted)
        return 0;
    return rb_bad_input(c->error, "%s: the header claims %" PRIu64 " %s, the events have %" PRIu64,
                        c->r->path, claimed, what, counted);
}

static int compare_header(const struct checker *c)
{
    const struct rbt_header *h = &c->r->header;
    uint64_t run = 0;

    for (uint64_t t = 0; t < rb_reader_count(c->r, RBT_THREADS); t++)
        run += c->lives[t].ran || c->lives[t].forked;
    if (compare_count(c, "threads that ran", h->threads_run, run) < 0)
        return -1;
    if (compare_count(c, "accesses", h->accesses, c->accesses) < 0)
        return -1;
    for (int op = 0; op < RB_OPS; op++) {
        const char *name = rb_op_info[op].text;
        if (compare_count(c, name && *name ? name : "marks", h->events_of[op], c->events_of[op]) < 0)
            return -1;
    }
    // Locks held at once are not compared: the writer decides how misuse changes that count.
    if (!c->notes->unmatched_release && !c->notes->overlapping_acquire)
        return compare_count(c, "locks held at once", h->locks_held, c->most_held);
    return 0;
}

int rb_check(struct rb_reader *r, bool lenient, struct rb_check_notes *notes, rb_progress_fn progress,
             void *context, struct rb_error *e)
{
    struct checker c = {.r = r, .notes = notes, .error = e, .lenient = lenient};
    const bool wide = r->layout.record_bytes == 16;
    struct rb_page page;
    int status = rb_reader_load_names(r, e);

    *notes = (struct rb_check_notes){0};
    c.lives = calloc(rb_reader_count(r, RBT_THREADS) + 1, sizeof(*c.lives));
    if (!c.lives && status == 0)
        status = rb_internal(e, "out of memory for threads");
    for (uint64_t p = 0; p < r->pages && status == 0; p++) {
        status = rb_reader_page(r, p, READ_AHEAD, &page, e);
        for (uint32_t i = 0; status == 0 && i < page.count; i++) {
            const struct rb_event event = rb_unpack(&r->layout, page.words + (wide ? 2 * i : i), wide);
            status = check_event(&c, &event, page.first + i);
        }
        if (progress && p % PROGRESS_PAGES == 0)
            progress(context, p, r->pages);
    }
    notes->open_locks = c.held;
    if (status == 0 && c.locks.out_of_memory)
        status = rb_internal(e, "out of memory for lock states");
    if (status == 0)
        status = compare_header(&c);
    rb_lock_table_free(&c.locks);
    free(c.lives);
    return status;
}
