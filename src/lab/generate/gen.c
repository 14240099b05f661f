// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The generator's loop. Threads take turns in bursts, and each event of a burst is decided by one row of
// thresholds and a few random bits. Synchronisation is in gen_sync.c, sizes and tables in gen_world.c. The
// exact length comes from the debt that gen_world.h explains.
//
// The loop is fast because it draws little: 64 random bits select the kind of the next event and, for most
// accesses, everything about it. Feedback produces the requested shares: once a burst the thresholds follow
// the shares still owed, so that a section that could not be opened is made up for later.
#include "lab/generate/gen_world.h"

#include <inttypes.h>
#include <stdlib.h>

const struct rb_gen_options rb_gen_defaults = {
    .events = 1000000,
    .threads = 16,
    .locks = 256,
    .variables = 100000,
    .sync = 0.15,
    .race = 0.001,
    .nesting = 2,
    .functions = 200,
    .sharing = 0.10,
    .rich = 0,
    .seed = 1,
};

enum { PROGRESS_EVENTS = 1 << 22 };

static void put_access(struct gen *g, const struct gen_thread *t, uint64_t variable, bool write,
                       enum gen_role read_role)
{
    gen_put(g, t, write ? RB_WRITE : RB_READ, variable, t->stack[t->depth],
            (enum gen_role)(read_role + write));
}

// ---- ordinary accesses: never racy ---------------------------------------------------------------------

// Accesses data that barriers and flags make safe outside of any section; see promise B in gen_sync.c.
static RB_NOINLINE bool access_handed_over(struct gen *g, struct gen_thread *t, uint32_t bits)
{
    struct gen_range data;
    uint32_t slot = t->id;

    if (bits % 2) {
        if (t->published == GEN_NONE)
            return false;
        data = gen_guarded(g, g->guard_flag + t->published);
        if (data.count == 0)
            return false;
        put_access(g, t, gen_pick(&g->rng, data), false, GEN_GUARDED_READ);
        return true;
    }
    if (!gen_has_barrier(g, t))
        return false;
    if (t->rounds % 2)
        slot = t->group_first + (uint32_t)((bits >> 8 & 0xff) * t->group_size >> 8);
    data = gen_guarded(g, g->guard_barrier + slot);
    if (data.count == 0)
        return false;
    put_access(g, t, gen_pick(&g->rng, data), t->rounds % 2 == 0 && (bits >> 16 & 1), GEN_GUARDED_READ);
    return true;
}

RB_INLINE void access_outside(struct gen *g, struct gen_thread *t, uint32_t bits)
{
    const uint32_t kind = bits & 15;

    if (kind < 3 || t->own.count == 0) {
        put_access(g, t, gen_pick(&g->rng, g->constants), false, GEN_CONSTANT_READ);
        return;
    }
    if (kind < 5 && g->rich_share > 0 && access_handed_over(g, t, bits >> 4))
        return;

    uint64_t *recent = &t->recent[(bits >> 4) % GEN_RECENT];
    if ((bits >> 7 & 3) == 0)
        *recent = gen_pick(&g->rng, t->own);
    put_access(g, t, *recent, (bits >> 9 & 0xff) < 105, GEN_PRIVATE_READ);
}

RB_INLINE void access_inside(struct gen *g, struct gen_thread *t, uint32_t bits)
{
    struct gen_frame *f = &t->frame[t->held - 1];

    if (t->held > 1 && (bits & 3) == 0)
        f--;
    if (f->data.count == 0) {
        access_outside(g, t, bits);
        return;
    }
    if ((bits >> 2 & 1) || f->last == f->data.first + f->data.count)
        f->last = gen_pick(&g->rng, f->data);
    put_access(g, t, f->last, (bits >> 3 & 0xff) < 85 && !f->read_only, GEN_GUARDED_READ);
}

RB_INLINE void access_ordinary(struct gen *g, struct gen_thread *t, uint32_t bits)
{
    if (t->held > 0)
        access_inside(g, t, bits);
    else
        access_outside(g, t, bits);
}

// ---- calls ---------------------------------------------------------------------------------------------

static void enter_function(struct gen *g, struct gen_thread *t, uint32_t function)
{
    if (!g->functions) {
        t->stack[0] = function;
        return;
    }
    t->stack[++t->depth] = function;
    gen_put(g, t, RB_ENTER, function, function, GEN_SYNC);
    g->debt++;
}

static bool may_enter(const struct gen *g, const struct gen_thread *t, uint64_t slack)
{
    return !g->functions || (t->depth < GEN_CALLS && gen_slack(g) >= slack);
}

// Emits a call or a return. Without functions the thread moves on to other code and no event records it.
// Calls are likelier, so that a stack is deep most of the time and few events occur at its base.
static bool call_or_return(struct gen *g, struct gen_thread *t, uint32_t bits)
{
    const unsigned floor = t->held ? t->frame[t->held - 1].depth : 0;

    if ((bits % 8 < 5 || t->depth == floor) && may_enter(g, t, 2)) {
        enter_function(g, t, gen_region(g));
        return g->functions > 0;
    }
    if (t->depth == floor)
        return false;
    gen_exit(g, t);
    return true;
}

// ---- unprotected accesses ------------------------------------------------------------------------------

// Returns the neighbour in popularity that shares the function's unprotected variables.
static uint32_t partner_of(const struct gen *g, uint32_t function)
{
    return (function ^ 1) < g->regions ? function ^ 1 : function;
}

static uint64_t loose_variable(struct gen *g, uint32_t function, uint32_t bits)
{
    const uint32_t pairs = (g->regions + 1) / 2, pair = function / 2;
    const struct gen_range some = gen_deal(g->loose.first, g->loose.count, pairs, pair);

    if (some.count == 0)
        return g->loose.first + pair % g->loose.count;
    return some.first + (uint64_t)(bits & 0xff) * some.count / 256;
}

// Plants a race. Half of the planted races start in the current code. The other half start in code drawn
// without regard to popularity, most of which this thread has seldom or never run.
static RB_NOINLINE void access_unprotected(struct gen *g, struct gen_thread *t, uint32_t bits)
{
    struct gen_invitation *i = &g->invitation;
    const bool plant = !i->open && g->threads > 1, write = bits & 1;

    if (g->answered > 0) {
        g->answered--;
        access_ordinary(g, t, bits);
        return;
    }
    if (plant && (bits & 2) && may_enter(g, t, 3))
        enter_function(g, t, (uint32_t)rb_rng_below(&g->rng, g->zipf_count));

    const uint32_t function = t->stack[t->depth];
    const uint64_t variable = loose_variable(g, function, bits >> 2);
    put_access(g, t, variable, write, GEN_LOOSE_READ);
    if (plant)
        *i = (struct gen_invitation){.variable = variable,
                                     .thread = t->id,
                                     .function = function,
                                     .delay = 1u + g->burst[bits >> 10 & 0xff] / 8u,
                                     .open = true,
                                     .wrote = write};
}

// Accesses the same data in another thread, in the partner function or (one time in four) the same one.
static void answer_invitation(struct gen *g, struct gen_thread *t)
{
    struct gen_invitation *i = &g->invitation;

    if (i->delay > 1) {
        i->delay--;
        return;
    }
    if (i->thread == t->id || !may_enter(g, t, 3) || gen_slack(g) == 0)
        return;
    const uint64_t bits = rb_rng_next(&g->rng);
    const uint32_t function = bits % 4 == 0 ? i->function : partner_of(g, i->function);
    if (!g->functions || function < g->functions) // the base of a thread is not called
        enter_function(g, t, function);
    put_access(g, t, i->variable, !i->wrote || (bits & 4), GEN_LOOSE_READ);
    i->open = false;
    g->answered++;
}

// ---- the run -------------------------------------------------------------------------------------------

static int64_t clamp_to(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

// Sets the thresholds from the shares and the events owed. An event owed is worth 1/1024 of probability,
// slow enough to leave the distribution alone. An event that stays owed, because locks are scarce, moves
// `sync_drift` until none is owed. 2^-18 a burst damps the pair critically: it settles within a few
// thousand events.
static void steer_shares(struct gen *g)
{
    const int64_t one = (int64_t)GEN_ONE, most = one << 20;
    const uint64_t due = g->sync + g->open; // open sections will be closed
    const int64_t sync = (int64_t)(due - g->steered_sync), rich = (int64_t)(g->rich - g->steered_rich);

    g->sync_owed += (int64_t)(g->done - g->steered_at) * (int64_t)g->sync_share - sync * one;
    g->sync_owed = clamp_to(g->sync_owed, -most, most);
    g->sync_drift = clamp_to(g->sync_drift + g->sync_owed / (1 << 18), -one, one);
    g->rich_owed += sync * (int64_t)g->rich_share - rich * one;
    g->rich_owed = clamp_to(g->rich_owed, -most, most);
    g->steered_at = g->done;
    g->steered_sync = due;
    g->steered_rich = g->rich;

    uint64_t p = 0; // stays 0 if no synchronisation is requested
    if (g->sync_share > 0)
        p = (uint64_t)clamp_to((int64_t)g->sync_share + g->sync_owed / 1024 + g->sync_drift, 0, one);
    g->rich_now = (uint64_t)clamp_to((int64_t)g->rich_share + g->rich_owed / 256, 0, one);

    const uint64_t calls = p + ((GEN_ONE - p) * g->call_share >> 32);
    const uint64_t race = calls + ((GEN_ONE - calls) * g->race_share >> 32);
    g->row[0] = (struct gen_row){0, p, calls, race};
    g->row[1] = (struct gen_row){p - (p * g->nest_share >> 32), p, calls, race};
    g->row[2] = (struct gen_row){p, p, calls, race};
}

static RB_NOINLINE void rare_step(struct gen *g, struct gen_thread *t, const struct gen_row *row, uint64_t r)
{
    const uint64_t kind = (uint32_t)r;
    const uint32_t bits = (uint32_t)(r >> 32);
    bool emitted;

    if (kind < row->close)
        emitted = gen_close(g, t);
    else if (kind < row->open)
        emitted = gen_open(g, t);
    else if (kind < row->call)
        emitted = call_or_return(g, t, bits);
    else {
        access_unprotected(g, t, bits);
        return;
    }
    if (!emitted)
        access_ordinary(g, t, bits);
}

static void run_burst(struct gen *g, struct gen_thread *t, uint32_t length)
{
    if (g->rich_share > 0)
        gen_barrier_step(g, t);
    if (g->invitation.open && t->barrier == GEN_RUNNING)
        answer_invitation(g, t);
    for (; length > 0 && t->barrier == GEN_RUNNING && gen_slack(g) > 0; length--) {
        const struct gen_row *row = &g->row[t->held == 0 ? 0 : t->held < g->nesting ? 1 : 2];
        const uint64_t r = rb_rng_next(&g->rng);

        if (RB_LIKELY((uint32_t)r >= row->race))
            access_ordinary(g, t, (uint32_t)(r >> 32));
        else
            rare_step(g, t, row, r);
    }
}

// Initialises some of the constants in T0, then starts the other threads.
static void begin_trace(struct gen *g, bool farewell)
{
    const struct gen_thread *t = &g->thread[0];
    const uint32_t others = g->threads - 1;

    g->debt = (farewell ? 3 : 2) * (uint64_t)others;
    for (uint64_t i = 0, n = gen_slack(g) / 16; i < n && i < 64 && i < g->constants.count; i++)
        gen_put(g, t, RB_WRITE, g->constants.first + i, t->stack[0], GEN_PRIVATE_WRITE);
    for (uint32_t id = 1; id <= others; id++) {
        gen_put(g, t, RB_FORK, id, t->stack[0], GEN_SYNC);
        g->debt--;
    }
}

// Closes everything that is open and joins. If `farewell`, T0 reads a variable of the other thread after
// each join.
static void end_trace(struct gen *g, bool farewell)
{
    struct gen_thread *first = &g->thread[0];

    for (uint32_t id = 0; id < g->threads; id++)
        while (g->thread[id].held > 0)
            gen_close(g, &g->thread[id]);
    for (uint32_t id = 0; id < g->threads; id++) // of an earlier round: they may have to arrive
        if (g->thread[id].barrier == GEN_MAY_LEAVE)
            gen_barrier_step(g, &g->thread[id]);
    for (int half = 0; half < 2; half++) // all threads arrive, all leave
        for (uint32_t id = 0; id < g->threads; id++)
            gen_barrier_step(g, &g->thread[id]);
    for (uint32_t id = 1; id < g->threads; id++)
        while (g->thread[id].depth > 0)
            gen_exit(g, &g->thread[id]);
    for (uint32_t id = 1; id < g->threads; id++) {
        const struct gen_thread *t = &g->thread[id];
        gen_put(g, first, RB_JOIN, id, first->stack[first->depth], GEN_SYNC);
        g->debt--;
        if (!farewell)
            continue;
        put_access(g, first, t->own.count ? t->recent[0] : g->constants.first, false, GEN_PRIVATE_READ);
        g->debt--;
    }
    while (first->depth > 0)
        gen_exit(g, first);
}

static void run_threads(struct gen *g, rb_progress_fn progress, void *context)
{
    const bool farewell = g->events / 64 >= g->threads; // only for traces that are long enough
    uint64_t report = PROGRESS_EVENTS;

    begin_trace(g, farewell);
    while (gen_slack(g) > 0 && !g->writer.failed) {
        const uint64_t r = rb_rng_next(&g->rng);
        const uint32_t id = g->ready[(r >> 32) * g->ready_count >> 32];

        steer_shares(g);
        run_burst(g, &g->thread[id], g->burst[r % GEN_BURSTS]);
        if (progress && g->done >= report) {
            progress(context, g->done, g->events);
            report = g->done + PROGRESS_EVENTS;
        }
    }
    end_trace(g, farewell);
}

// ---- options -------------------------------------------------------------------------------------------

static int check_share(const char *name, double x, struct rb_error *e)
{
    return x >= 0 && x <= 1 ? 0 : rb_bad_input(e, "--%s %g: a share is from 0 to 1", name, x);
}

static int check_count(const char *name, uint64_t n, uint64_t low, uint64_t high, struct rb_error *e)
{
    if (n < low)
        return rb_bad_input(e, "--%s %" PRIu64 ": at least %" PRIu64, name, n, low);
    if (n > high)
        return rb_bad_input(e, "--%s %" PRIu64 ": at most %" PRIu64, name, n, high);
    return 0;
}

static int check_options(const struct rb_gen_options *o, struct rb_error *e)
{
    const uint64_t least = 2 * ((uint64_t)o->threads - 1); // valid once `threads` is known to be positive
    int status;

    if ((status = check_count("threads", o->threads, 1, RB_MAX_THREADS, e)) ||
        (status = check_count("events", o->events, o->threads == 1, RB_MAX_EVENTS, e)) ||
        (status = check_count("locks", o->locks, 1, GEN_MAX_LOCKS, e)) ||
        (status = check_count("variables", o->variables, 2, RBT_MAX_UNNAMED(o->events), e)) ||
        (status = check_count("nesting", o->nesting, 1, GEN_NESTING, e)) ||
        (status = check_count("functions", o->functions, 0, RB_MAX_LOCATIONS / GEN_ROLES - 1, e)) ||
        (status = check_share("sync", o->sync, e)) || (status = check_share("race", o->race, e)) ||
        (status = check_share("sharing", o->sharing, e)) || (status = check_share("rich", o->rich, e)))
        return status;
    if (o->events < least)
        return rb_bad_input(e,
                            "--events %" PRIu64 ": at least %" PRIu64
                            " for %u threads, each of which is forked and joined",
                            o->events, least, o->threads);
    return 0;
}

static uint64_t larger_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

int rb_gen(const struct rb_gen_options *o, const char *path, rb_progress_fn progress, void *context,
           struct rb_error *e)
{
    int status = check_options(o, e);
    if (status)
        return status;

    struct gen *g = calloc(1, sizeof(*g));
    if (!g)
        return rb_internal(e, "out of memory");
    status = gen_world_make(g, o, e);
    if (status)
        goto out;

    const uint64_t locations = (uint64_t)g->regions * GEN_ROLES;
    const struct rb_writer_hint hint = {
        .targets = larger_of(larger_of(o->variables, g->objects), larger_of(g->threads, g->functions)),
        .threads = g->threads,
        .locations = locations,
    };
    status = rb_writer_open(&g->writer, path, -1, &hint, e);
    if (status)
        goto out;
    run_threads(g, progress, context);
    if (!g->writer.failed && (g->done != g->events || g->debt != 0)) {
        status =
            rb_internal(e, "%s: generated %" PRIu64 " events instead of %" PRIu64, path, g->done, g->events);
        rb_writer_abandon(&g->writer);
        goto out;
    }
    rb_writer_table(&g->writer, RBT_THREADS, g->threads, NULL, 0);
    rb_writer_table(&g->writer, RBT_LOCKS, g->objects, NULL, 0);
    rb_writer_table(&g->writer, RBT_VARIABLES, o->variables, NULL, 0);
    rb_writer_table(&g->writer, RBT_LOCATIONS, locations, NULL, 0);
    rb_writer_table(&g->writer, RBT_FUNCTIONS, g->functions, NULL, 0);
    status = rb_writer_finish(&g->writer, g->threads, 0);
out:
    gen_world_free(g);
    free(g);
    return status;
}
