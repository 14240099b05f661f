// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The meaning of each event for happens-before, as operations of an engine: all kinds but the mutex
// (replay_mutex.h). The table is in docs/reference/trace-format.md. tests/engine/oracle.c implements it a second
// time, as a graph.
#include <inttypes.h>

#include "lab/replay/replay_state.h"

int rb_state_misuse(struct rb_state *s, uint64_t index, enum rb_lock_verdict verdict)
{
    char thread[32], lock[32];
    struct rb_event e;

    if (s->options->lenient) {
        if (verdict == RB_LOCK_OVERLAP)
            s->result->lenient_acquires++;
        else
            s->result->lenient_releases++;
        return 0;
    }
    if (rb_reader_load_names(s->reader, s->error) < 0 || rb_reader_event(s->reader, index, &e, s->error) < 0)
        return -1;
    return rb_bad_input(s->error, "%s: event %" PRIu64 ": thread %s %s (%s); --lenient takes such traces",
                        s->reader->path, index, rb_reader_name(s->reader, RBT_THREADS, e.thread, thread),
                        rb_lock_misuse[verdict], rb_reader_name(s->reader, RBT_LOCKS, e.target, lock));
}

static int read_unlock(struct rb_state *s, struct rb_thread *t, struct rb_replay_object *o)
{
    if (!o->readers)
        o->readers = rb_arena_zalloc(&s->arena, sizeof(*o->readers));
    if (!o->readers)
        return rb_internal(s->error, "out of memory for lock states");
    s->engine.ops->release_join(&s->engine, t, o->readers);
    o->unread = true;
    s->releases++;
    return 0;
}

static void plain_acquire(struct rb_state *s, struct rb_thread *t, struct rb_replay_object *o)
{
    s->acquires_skipped += s->engine.ops->acquire(&s->engine, t, &o->main);
    s->acquires++;
}

static void join_release(struct rb_state *s, struct rb_thread *t, struct rb_replay_object *o)
{
    o->loose = true;
    s->engine.ops->release_join(&s->engine, t, &o->main);
    s->releases++;
}

// Orders all past events of thread `from` before the next event of thread `to`.
static int thread_edge(struct rb_state *s, uint32_t from, uint32_t to, uint32_t subject)
{
    struct rb_thread *a = rb_state_thread(s, from), *b = rb_state_thread(s, to);
    struct rb_sync *edge = &s->thread_sync[subject];

    if (!a || !b)
        return rb_internal(s->error, "out of memory for thread clocks");
    // Forks and joins count neither as releases and acquires nor in the entries traversed; copies count.
    const struct rb_engine_counters before_a = a->count, before_b = b->count;
    s->engine.ops->release_store(&s->engine, a, edge);
    s->engine.ops->acquire(&s->engine, b, edge);
    a->count.releases_processed = before_a.releases_processed;
    b->count.entries_traversed = before_b.entries_traversed;
    b->count.entries_total = before_b.entries_total;
    return 0;
}

int rb_state_event(struct rb_state *s, const struct rb_event *e)
{
    const struct rb_engine_ops *ops = s->engine.ops;
    struct rb_replay_object *o = NULL;
    struct rb_thread *t = NULL;

    if (rb_op_info[e->op].space == RB_SPACE_LOCK) {
        t = rb_state_thread(s, e->thread);
        o = rb_state_object(s, e->target);
        if (RB_UNLIKELY(!t || !o))
            return rb_internal(s->error, "out of memory for thread clocks and lock states");
    }
    switch (e->op) {
    case RB_RD_ACQ:
    case RB_LOAD:
    case RB_WAIT:
    case RB_LEAVE:
        plain_acquire(s, t, o);
        return 0;
    case RB_RD_REL:
        return read_unlock(s, t, o);
    case RB_STORE: // replaces all knowledge, read-unlocks included: some may live on in `main` alone
        o->loose = true;
        ops->release_store(&s->engine, t, &o->main);
        if (o->readers)
            ops->sync_clear(&s->engine, o->readers);
        s->releases++;
        return 0;
    case RB_RMW:
        plain_acquire(s, t, o);
        join_release(s, t, o);
        return 0;
    case RB_RMW_REL:
    case RB_POST:
    case RB_ARRIVE: // not cleared between rounds: the trace does not record where a round ends
        join_release(s, t, o);
        return 0;
    case RB_FORK:
    case RB_JOIN: {
        const uint32_t other = rb_reader_thread(s->reader, e->target);
        return e->op == RB_FORK ? thread_edge(s, e->thread, other, other)
                                : thread_edge(s, other, e->thread, other);
    }
    case RB_ENTER:
        if (s->sampler.ops->enter)
            s->sampler.ops->enter(&s->sampler, e->thread, e->target);
        return 0;
    case RB_EXIT:
        if (s->sampler.ops->exit)
            s->sampler.ops->exit(&s->sampler, e->thread);
        return 0;
    default: // marks have no effect
        return 0;
    }
}
