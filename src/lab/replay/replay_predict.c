// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Runs a trace through a predictive engine. The engine gets every event that orders threads and every
// access, in order, and the sampler decides which accesses count as sides of a race. Counters have the same
// meaning as for the other engines.
//
// PACER checks accesses outside of its periods against those inside. Here they are ignored, because the
// contract (lab/predict/predict.h) knows sampled accesses and others only. RPT's windows are refused
// (replay.c): a section may begin before the window it ends in.
#include <errno.h>
#include <inttypes.h>

#include "lab/predict/predict.h"
#include "lab/replay/read_ahead.h"
#include "lab/replay/replay_state.h"

#define PREFETCH_AHEAD 12u
#define PROGRESS_PAGES 1024u

struct run {
    struct rb_state *s;
    const struct rb_predictor_ops *ops;
    void *predictor;
    struct rb_lock_state *held; // by lock, to write
    struct rb_survey survey;
    struct rb_predict_states states; // of variables
};

static int open_run(struct run *r)
{
    struct rb_state *s = r->s;
    const struct rb_reader *reader = s->reader;
    const struct rb_survey_wants wants = {.lenient = s->options->lenient,
                                          .last_use = r->ops == &rb_wcp}; // shb and syncp do not use it
    int status = rb_survey_make(&r->survey, reader, wants, &s->arena, s->error);

    if (status < 0)
        return status;
    const struct rb_predict_world world = {.threads = s->thread_limit,
                                           .locks = rb_reader_count(reader, RBT_LOCKS),
                                           .variables = rb_reader_count(reader, RBT_VARIABLES),
                                           .locations = s->location_limit,
                                           .events = reader->header.events,
                                           .events_of = reader->header.events_of,
                                           .hard = r->survey.hard,
                                           .last_use = wants.last_use ? rb_survey_last_use : NULL,
                                           .survey = &r->survey,
                                           .arena = &s->arena};
    r->held = rb_arena_zalloc(&s->arena, (world.locks + 1) * sizeof(*r->held));
    r->predictor = r->held ? r->ops->open(&world) : NULL;
    if (!r->predictor)
        return rb_internal(s->error,
                           "out of memory for the states of %" PRIu64 " variables and %" PRIu64 " locks",
                           world.variables, world.locks);
    if (r->ops->states)
        r->states = r->ops->states(r->predictor);
    return 0;
}

// ---- events --------------------------------------------------------------------------------------------

static RB_NOINLINE int out_of_memory(const struct run *r, uint64_t at)
{
    return rb_internal(r->s->error, "out of memory near event %" PRIu64 ": engine %s has %zu MiB", at,
                       r->s->options->engine->name, r->s->arena.mapped >> 20);
}

RB_INLINE bool takes(struct rb_state *s, const struct rb_event *e)
{
    const struct rb_sampler_ops *ops = s->sampler.ops;

    if (ops->takes_all)
        return true;
    if (!ops->gap)
        return ops->ask(&s->sampler, e->thread, e->location) == RB_TAKE;
    if (s->gap) {
        s->gap -= s->gap != RB_GAP_END;
        return false;
    }
    s->gap = ops->gap(&s->sampler);
    return true;
}

RB_INLINE int access_event(struct run *r, const struct rb_event *e, uint64_t at)
{
    struct rb_state *s = r->s;
    const bool sampled = takes(s, e);
    struct rb_partner partner = {0, 0};

    s->result->accesses++;
    s->sampled += sampled;
    if (RB_UNLIKELY(r->ops->event(r->predictor, e, at, sampled, &partner) < 0))
        return out_of_memory(r, at);
    if (RB_UNLIKELY(partner.epoch))
        rb_state_warn(s, e, at, &partner);
    return 0;
}

static int order_event(struct run *r, struct rb_event *e, uint64_t at)
{
    struct rb_state *s = r->s;
    struct rb_partner partner;

    if (e->op == RB_ACQUIRE || e->op == RB_RELEASE) {
        const enum rb_lock_verdict v = rb_lock_apply(&r->held[e->target], e->op, e->thread);
        if (RB_UNLIKELY(v >= RB_LOCK_NOT_HELD) && rb_state_misuse(s, at, v) < 0)
            return -EINVAL;
    } else if (e->op == RB_FORK || e->op == RB_JOIN) {
        e->target = rb_reader_thread(s->reader, e->target);
    }
    s->acquires += rb_op_info[e->op].acquires;
    s->releases += rb_op_info[e->op].releases;
    return RB_UNLIKELY(r->ops->event(r->predictor, e, at, false, &partner) < 0) ? out_of_memory(r, at) : 0;
}

// Prefetches the state of the target, whether or not it is a variable: a wrong address costs little.
RB_INLINE void prefetch_state(const struct run *r, struct rb_event e)
{
    __builtin_prefetch(r->states.base + e.target * r->states.each, 1);
}

static int one_page(struct run *r, const struct rb_page *page, const struct rb_classes *c)
{
    struct rb_state *s = r->s;
    const struct rb_layout layout = s->reader->layout;
    const bool wide = layout.record_bytes == 16, functions = s->sampler.ops->enter != NULL;
    int status = 0;

    for (uint32_t w = 0; w < RB_MASK_WORDS; w++) {
        uint64_t work = c->access.bits[w] | c->order.bits[w] | (functions ? c->quiet.bits[w] : 0);
        for (; work && status == 0; work &= work - 1) {
            const uint32_t i = w * 64 + (uint32_t)__builtin_ctzll(work);
            struct rb_event e = rb_unpack(&layout, page->words + (wide ? 2u * i : i), wide);
            if (r->states.each && i + PREFETCH_AHEAD < page->count)
                prefetch_state(r, rb_unpack(&layout, page->words + (i + PREFETCH_AHEAD) * (wide ? 2u : 1u),
                                            wide));
            if (RB_UNLIKELY(e.target >= s->limit[e.op]))
                return rb_bad_input(s->error, "%s: event %" PRIu64 ": its target is in no table",
                                    s->reader->path, page->first + i);
            if (e.op <= RB_WRITE)
                status = access_event(r, &e, page->first + i);
            else if (e.op < RB_FIRST_QUIET)
                status = order_event(r, &e, page->first + i);
            else
                status = rb_state_event(s, &e);
        }
    }
    return status;
}

int rb_replay_predict(struct rb_state *s)
{
    struct run r = {.s = s, .ops = s->options->engine->predict};
    const struct rb_replay_options *o = s->options;
    struct rb_engine_counters counters = {0};
    const struct rb_classes *classes;
    struct rb_ahead ahead;
    struct rb_page page;
    int status = open_run(&r);

    if (status < 0)
        return status;
    if (s->sampler.ops->gap)
        s->gap = s->sampler.ops->gap(&s->sampler);
    status = rb_ahead_start(&ahead, s->reader, s->error);
    while (status == 0 && (status = rb_ahead_next(&ahead, &page, &classes, s->error)) == 0) {
        status = one_page(&r, &page, classes);
        s->result->events_read += page.count;
        s->result->bytes_read += RBT_PAGE_BYTES;
        if (status == 0 && s->failed)
            status = rb_internal(s->error, "out of memory for the races found");
        if (o->progress && page.first / s->reader->per_page % PROGRESS_PAGES == 0)
            o->progress(o->progress_context, page.first, s->reader->header.events);
    }
    rb_ahead_stop(&ahead);
    r.ops->counters(r.predictor, &counters);
    s->result->starved += counters.starved;
    s->result->releases_processed += counters.releases_processed;
    s->result->deep_copies += counters.deep_copies;
    s->result->entries_traversed += counters.entries_traversed;
    s->result->entries_total += counters.entries_total;
    r.ops->close(r.predictor);
    return status < 0 ? status : 0;
}
