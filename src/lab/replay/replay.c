// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass over a trace. It sorts the events of a page into classes by their top bits, lets a gap sampler
// choose among the accesses, and walks the rest: synchronisation, and the sampled accesses. The other
// records are never read, so a record is checked (thread, location, target) only when it is used.
#include "lab/replay/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "lab/predict/predict.h"
#include "lab/replay/read_ahead.h"
#include "lab/replay/replay_mutex.h"
#include "lab/replay/replay_state.h"
#include "trace/format.h"

#define PREFETCH_AHEAD 12u
#define PROGRESS_PAGES 16384u

// ---- engines -------------------------------------------------------------------------------------------

const struct rb_engine_ops rb_engine_shb = {.name = "shb",
                                            .help = "predictive: every race is one of some order",
                                            .predict = &rb_shb};
const struct rb_engine_ops rb_engine_wcp = {
    .name = "wcp",
    .help = "predictive: sections may change places; sure of its first race",
    .predict = &rb_wcp};
const struct rb_engine_ops rb_engine_syncp = {
    .name = "syncp",
    .help = "predictive: all races of orders that keep those of the sections",
    .predict = &rb_syncp};

const struct rb_engine_ops *const rb_lab_engines[] = {&rb_djit,       &rb_fasttrack,    &rb_st,
                                                      &rb_su,         &rb_so,           &rb_engine_shb,
                                                      &rb_engine_wcp, &rb_engine_syncp, NULL};

const struct rb_engine_ops *rb_lab_engine_find(const char *name)
{
    for (int i = 0; rb_lab_engines[i]; i++)
        if (!strcmp(rb_lab_engines[i]->name, name))
            return rb_lab_engines[i];
    return NULL;
}

// ---- warnings ------------------------------------------------------------------------------------------

static const char *csv_name(const struct rb_reader *r, enum rbt_table table, uint64_t id, FILE *out)
{
    char scratch[32];
    const char *name = rb_reader_name(r, table, id, scratch);
    bool quote = false;

    for (const char *c = name; *c; c++)
        quote |= *c == ',' || *c == '"' || *c == '\r';
    if (!quote) {
        fputs(name, out);
        return name;
    }
    putc('"', out);
    for (const char *c = name; *c; c++) {
        if (*c == '"')
            putc('"', out);
        putc(*c, out);
    }
    putc('"', out);
    return name;
}

static void write_csv(struct rb_state *s, const struct rb_event *e, uint64_t index,
                      const struct rb_partner *p)
{
    FILE *out = s->options->races;
    const struct rb_reader *r = s->reader;

    fprintf(out, "%" PRIu64 ",%" PRIu64 ",", rb_event_place_index(p->where), index);
    csv_name(r, RBT_VARIABLES, e->target, out);
    putc(',', out);
    csv_name(r, RBT_THREADS, rb_epoch_slot(p->epoch), out);
    putc(',', out);
    csv_name(r, RBT_THREADS, e->thread, out);
    fprintf(out, ",%s,%s,", rb_epoch_is_write(p->epoch) ? "w" : "r", rb_op_info[e->op].text);
    csv_name(r, RBT_LOCATIONS, rb_event_place_location(p->where), out);
    putc(',', out);
    csv_name(r, RBT_LOCATIONS, e->location, out);
    putc('\n', out);
}

void rb_state_warn(struct rb_state *s, const struct rb_event *e, uint64_t index, const struct rb_partner *p)
{
    s->result->warnings++;
    if (!rb_pair_add(&s->result->static_races, rb_event_place_location(p->where), e->location) ||
        !rb_pair_add(&s->result->racy_variables, e->target, e->target))
        s->failed = true;
    if (s->options->races)
        write_csv(s, e, index, p);
    if (s->options->warned)
        s->options->warned(s->options->warned_context, rb_event_place_index(p->where), index, e->target);
}

// ---- the stream ----------------------------------------------------------------------------------------

// A page that is being fed; the loops copy it into registers.
struct page_feed {
    struct rb_state *s;
    const uint64_t *words;
    uint64_t first;
    uint32_t end;
    struct rb_layout layout;
    const struct rb_classes *classes;
};

RB_INLINE struct rb_event event_at(const struct page_feed *f, uint32_t i, bool wide)
{
    return rb_unpack(&f->layout, f->words + (wide ? 2u * i : i), wide);
}

RB_INLINE void prefetch_cell(const struct page_feed *f, uint32_t i, bool wide)
{
    __builtin_prefetch(&f->s->cells[event_at(f, i, wide).target], 1);
}

// Chooses the accesses of this page that a gap sampler takes. Prefetches their cells, which are used later.
RB_INLINE void draw_gaps(const struct page_feed *f, const struct rb_mask *accesses, struct rb_mask *taken,
                         bool wide)
{
    struct rb_state *s = f->s;

    for (uint32_t w = 0; w < RB_MASK_WORDS; w++) {
        uint64_t left = accesses->bits[w], chosen = 0, count;
        while (s->gap < (count = (uint64_t)__builtin_popcountll(left))) {
            const unsigned at = rb_select64(left, s->gap);
            chosen |= UINT64_C(1) << at;
            prefetch_cell(f, w * 64 + at, wide);
            left &= at == 63 ? 0 : ~UINT64_C(0) << (at + 1);
            s->gap = s->sampler.ops->gap(&s->sampler);
        }
        if (s->gap != RB_GAP_END)
            s->gap -= count;
        taken->bits[w] = chosen;
    }
}

static RB_NOINLINE int bad_record(const struct page_feed *f, uint32_t i)
{
    struct rb_reader checking = *f->s->reader; // the reading thread may be using the original
    struct rb_event event;

    // The reader's own check finds the same fault and describes it.
    rb_reader_records_at_use(&checking, false);
    if (rb_reader_event(&checking, f->first + i, &event, f->s->error) < 0)
        return -EINVAL;
    return rb_bad_input(f->s->error, "%s: event %" PRIu64 ": its target is in no table", f->s->reader->path,
                        f->first + i);
}

// Reports a warning. Out of line and by position, so that the loop keeps its event in registers.
static RB_NOINLINE void warn_at(const struct page_feed *f, uint32_t i, const struct rb_partner *p)
{
    const struct rb_event e = event_at(f, i, f->layout.record_bytes == 16);

    rb_state_warn(f->s, &e, f->first + i, p);
}

static RB_NOINLINE int rare_at(const struct page_feed *f, uint32_t i)
{
    const struct rb_event e = event_at(f, i, f->layout.record_bytes == 16);

    return rb_state_event(f->s, &e);
}

// Feeds an access. Returns a negative errno only if the record is bad.
RB_INLINE int access_at(const struct page_feed *f, uint32_t i, bool record, bool wide, bool windowed)
{
    struct rb_state *s = f->s;
    const struct rb_event e = event_at(f, i, wide);
    struct rb_partner partner;

    if (RB_UNLIKELY(e.op > RB_WRITE || e.target >= s->limit[RB_READ] || e.thread >= s->thread_limit ||
                    e.location >= s->location_limit))
        return bad_record(f, i);
    struct rb_cell *cell = windowed ? rb_state_new_cell(s, e.target) : &s->cells[e.target];
    if (!record && !cell->write && !cell->read)
        return 0;
    struct rb_thread *t = rb_state_thread(s, e.thread);
    if (RB_UNLIKELY(!t || !cell)) {
        s->failed = true;
        return 0;
    }
    s->engine.ops->access(&s->engine, t, cell,
                          (struct rb_access){rb_event_place(f->first + i, e.location), e.op == RB_WRITE},
                          record, &partner);
    s->sampled += record;
    if (RB_UNLIKELY(partner.epoch))
        warn_at(f, i, &partner);
    return 0;
}

RB_INLINE int other_at(const struct page_feed *f, uint32_t i, bool wide, bool so)
{
    const struct rb_event e = event_at(f, i, wide);
    struct rb_state *s = f->s;

    if (RB_UNLIKELY(e.target >= s->limit[e.op] || e.thread >= s->thread_limit))
        return bad_record(f, i);
    if (RB_UNLIKELY(e.op > RB_RELEASE))
        return rare_at(f, i);
    struct rb_thread *t = rb_state_thread(s, e.thread);
    struct rb_replay_object *o = rb_state_object(s, e.target);
    if (RB_UNLIKELY(!t || !o)) {
        s->failed = true;
        return 0;
    }
    return e.op == RB_ACQUIRE ? rb_mutex_acquire(s, t, o, f->first + i, so)
                              : rb_mutex_release(s, t, o, f->first + i, so);
}

RB_INLINE int asked_at(const struct page_feed *f, uint32_t i, bool wide)
{
    struct rb_sampler *sampler = &f->s->sampler;
    const struct rb_event e = event_at(f, i, wide);

    if (RB_UNLIKELY(e.thread >= f->s->thread_limit || e.location >= f->s->location_limit))
        return bad_record(f, i);
    const enum rb_take take = sampler->ops->ask(sampler, e.thread, e.location);
    return take == RB_PASS ? 0 : access_at(f, i, take == RB_TAKE, wide, false);
}

uint64_t rb_replay_clock_bytes(const struct rb_reader *r)
{
    const uint64_t threads = rb_reader_count(r, RBT_THREADS);

    return threads * threads * sizeof(uint64_t);
}

// The interface of the sampler; a compile-time constant in the loops below.
enum manner { ALL, ALL_WINDOWED, GAPS, GAPS_CHECKED, ASKED };

// Walks the relevant events of a page in order.
RB_INLINE int feed_page(const struct page_feed *f, bool wide, enum manner manner, bool so)
{
    struct rb_state *s = f->s;
    const struct rb_classes *c = f->classes;
    struct rb_mask taken;
    uint64_t accesses = 0;
    int status = 0;

    if (manner == GAPS || manner == GAPS_CHECKED)
        draw_gaps(f, &c->access, &taken, wide);
    for (uint32_t w = 0; w < RB_MASK_WORDS; w++) {
        uint64_t work = c->order.bits[w];
        work |= manner == GAPS ? taken.bits[w] : c->access.bits[w];
        if (s->sampler.ops->enter)
            work |= c->quiet.bits[w];
        accesses += (uint64_t)__builtin_popcountll(c->access.bits[w]);
        for (; work && status == 0; work &= work - 1) {
            const unsigned at = (unsigned)__builtin_ctzll(work);
            const uint32_t i = w * 64 + at;
            if (manner == ALL && i + PREFETCH_AHEAD < f->end)
                prefetch_cell(f, i + PREFETCH_AHEAD, wide);
            if (!(c->access.bits[w] >> at & 1))
                status = other_at(f, i, wide, so);
            else if (manner == ASKED)
                status = asked_at(f, i, wide);
            else
                status = access_at(f, i, manner != GAPS_CHECKED || (taken.bits[w] >> at & 1), wide,
                                   manner == ALL_WINDOWED);
        }
    }
    s->result->accesses += accesses;
    if (RB_UNLIKELY(s->failed || s->engine.blind) && status == 0)
        return rb_internal(s->error,
                           "out of memory near event %" PRIu64 ": the clocks of %" PRIu32
                           " threads need about %" PRIu64 " MiB",
                           f->first, s->thread_limit, rb_replay_clock_bytes(s->reader) >> 20);
    return status;
}

// Selects the loop: one for each interface of samplers, and one more for the default engine, where
// synchronisation dominates.
RB_INLINE int feed_manner(const struct page_feed *f, bool wide)
{
    const struct rb_sampler_ops *ops = f->s->sampler.ops;

    if (ops->windows)
        return feed_page(f, wide, ALL_WINDOWED, false);
    if (ops->takes_all)
        return feed_page(f, wide, ALL, false);
    if (ops->gap && ops->between == RB_CHECK)
        return feed_page(f, wide, GAPS_CHECKED, false);
    if (ops->gap && f->s->engine.ops == &rb_so)
        return feed_page(f, wide, GAPS, true);
    return ops->gap ? feed_page(f, wide, GAPS, false) : feed_page(f, wide, ASKED, false);
}

// The loops are compiled twice: for any x86-64, and for processors with bit instructions.
static int feed_plain(const struct page_feed *f)
{
    return f->layout.record_bytes == 16 ? feed_manner(f, true) : feed_manner(f, false);
}

#if defined(__x86_64__)
__attribute__((target("avx2,bmi,bmi2,popcnt,lzcnt"))) static int feed_bmi(const struct page_feed *f)
{
    return f->layout.record_bytes == 16 ? feed_manner(f, true) : feed_manner(f, false);
}
#endif

int rb_state_feed(struct rb_state *s, const struct rb_page *page, const struct rb_classes *classes)
{
    const struct page_feed f = {s, page->words, page->first, page->count, s->reader->layout, classes};

#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt"))
        return feed_bmi(&f);
#endif
    return feed_plain(&f);
}

// ---- the whole run -------------------------------------------------------------------------------------

static int whole_trace(struct rb_state *s)
{
    const struct rb_replay_options *o = s->options;
    const struct rb_classes *classes;
    struct rb_ahead ahead;
    struct rb_page page;
    int status = rb_ahead_start(&ahead, s->reader, s->error);

    if (s->sampler.ops->gap)
        s->gap = s->sampler.ops->gap(&s->sampler);
    while (status == 0 && (status = rb_ahead_next(&ahead, &page, &classes, s->error)) == 0) {
        status = rb_state_feed(s, &page, classes);
        s->result->events_read += page.count;
        s->result->bytes_read += RBT_PAGE_BYTES;
        if (o->progress && page.first / s->reader->per_page % PROGRESS_PAGES == 0)
            o->progress(o->progress_context, page.first, s->reader->header.events);
    }
    rb_ahead_stop(&ahead);
    return status < 0 ? status : 0;
}

static double seconds_of(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int rb_replay(struct rb_reader *r, const struct rb_replay_options *o, struct rb_result *result,
              struct rb_error *e)
{
    struct rb_state s = {.reader = r, .options = o, .result = result, .error = e};
    int status;

    *result = (struct rb_result){0};
    if (o->engine->predict && o->sampler.ops->windows)
        return rb_bad_input(e, "engine %s needs the whole trace: it cannot run in the windows of sampler %s",
                            o->engine->name, o->sampler.text);
    if (o->races && (status = rb_reader_load_names(r, e)) < 0)
        return status;
    const double wall = seconds_of(CLOCK_MONOTONIC), cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    status = rb_state_open(&s);
    rb_reader_records_at_use(r, !o->engine->predict); // a predictive engine uses every record
    if (status == 0)
        status = o->engine->predict       ? rb_replay_predict(&s)
                 : s.sampler.ops->windows ? rb_windows_run(&s)
                                          : whole_trace(&s);
    // Windows and read-unlocks are not checked one by one; the header states whether the whole trace is
    // lenient.
    if (status == 0 && (r->header.flags & RBT_LENIENT) && !o->lenient)
        status = rb_bad_input(
            e, "%s: holds lock misuse that its writer was told to keep; --lenient takes such traces",
            r->path);
    rb_reader_records_at_use(r, false);
    rb_state_collect(&s);
    result->seconds = seconds_of(CLOCK_MONOTONIC) - wall;
    result->cpu_seconds = seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    result->regions_are_locations = s.sampler.by_location;
    rb_state_close(&s);
    return status;
}

void rb_result_free(struct rb_result *result)
{
    rb_pair_free(&result->static_races);
    rb_pair_free(&result->racy_variables);
}
