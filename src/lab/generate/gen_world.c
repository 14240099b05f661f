// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sizes and tables of the simulated program. All divisions are done here, once. Floating point is limited
// to the shares and run lengths, without libm, so that a seed gives the same trace with every C library. A
// compiler that fuses multiplications and additions (FMA) may round a share differently.
#include "lab/generate/gen_world.h"

#include <stdlib.h>

static uint64_t fixed_share(double x)
{
    return (uint64_t)(x * (double)GEN_ONE);
}

static uint32_t at_least_one(uint32_t n)
{
    return n ? n : 1;
}

// Computes the run lengths: the quantiles (i + 1/2) / GEN_BURSTS of a geometric distribution.
static void make_bursts(struct gen *g)
{
    const double stay = 1.0 - 1.0 / GEN_MEAN_BURST;
    double beyond = stay; // probability of more than `length`
    uint8_t length = 1;

    for (unsigned i = 0; i < GEN_BURSTS; i++) {
        for (; beyond > 1.0 - (i + 0.5) / GEN_BURSTS; length++)
            beyond *= stay;
        g->burst[i] = length;
    }
}

// Makes Vose's alias table, in integers, for popularity 1 / rank^2 mixed with one part in 64 of uniform
// choice.
static int make_zipf(struct gen *g, uint32_t count)
{
    uint64_t *scaled = malloc(count * sizeof(*scaled)); // weight * count: average is `total`
    uint32_t *todo = malloc(count * sizeof(*todo));     // small weights left, large ones right
    uint32_t small = 0, large = count;
    uint64_t total = 0;

    g->zipf_count = count;
    g->zipf_cut = malloc(count * sizeof(*g->zipf_cut));
    g->zipf_alias = malloc(count * sizeof(*g->zipf_alias));
    if (!scaled || !todo || !g->zipf_cut || !g->zipf_alias) {
        free(scaled);
        free(todo);
        return -1;
    }
    for (uint64_t rank = 1; rank <= count; rank++)
        total += (UINT64_C(1) << 36) / (rank * rank);
    const uint64_t even = total / 64 / count + 1;
    total += even * count;
    for (uint64_t rank = 1; rank <= count; rank++)
        scaled[rank - 1] = (UINT64_C(1) << 36) / (rank * rank) + even;
    for (uint32_t i = 0; i < count; i++) {
        scaled[i] *= count;
        g->zipf_alias[i] = i;
        g->zipf_cut[i] = UINT32_MAX;
        if (scaled[i] < total)
            todo[small++] = i;
        else
            todo[--large] = i;
    }
    while (small > 0 && large < count) {
        const uint32_t s = todo[--small], l = todo[large];
        g->zipf_cut[s] = (uint32_t)(((unsigned __int128)scaled[s] << 32) / total);
        g->zipf_alias[s] = l;
        scaled[l] -= total - scaled[s];
        if (scaled[l] < total) {
            large++;
            todo[small++] = l;
        }
    }
    free(scaled);
    free(todo);
    return 0;
}

// Numbers the lock ids: mutexes first, then the rest, in the order of the fields.
static void number_objects(struct gen *g, bool rich)
{
    const uint32_t groups = (g->threads + GEN_GROUP - 1) / GEN_GROUP;

    g->objects = g->locks;
    g->guards = g->locks;
    if (!rich)
        return;
    g->rwlocks = at_least_one(g->locks / 8);
    g->channels = at_least_one(g->locks / 16);
    g->spins = at_least_one(g->locks / 8);
    g->flags = at_least_one(g->locks / 16);
    if (g->flags > groups)
        g->flags = groups;
    g->barriers = groups;

    g->first_rwlock = g->objects;
    g->first_channel = g->first_rwlock + g->rwlocks;
    g->first_spin = g->first_channel + 2 * g->channels;
    g->first_flag = g->first_spin + g->spins;
    g->first_barrier = g->first_flag + g->flags;
    g->objects = g->first_barrier + 2 * g->barriers;

    g->guard_rwlock = g->guards;
    g->guard_channel = g->guard_rwlock + g->rwlocks;
    g->guard_spin = g->guard_channel + (uint64_t)GEN_SLOTS * g->channels;
    g->guard_flag = g->guard_spin + g->spins;
    g->guard_barrier = g->guard_flag + g->flags;
    g->guards = g->guard_barrier + g->threads;
}

// Divides the variable ids: guarded, private, constants, loose. The smallest traces have only the last two.
static struct gen_range divide_variables(struct gen *g, const struct rb_gen_options *o)
{
    const uint64_t pairs = (g->regions + 1) / 2;
    uint64_t private;

    g->constants.count = o->variables / 5 ? o->variables / 5 : 1;
    if (o->race > 0) {
        g->loose.count = o->variables / 50 ? o->variables / 50 : 1;
        if (g->loose.count > 4 * pairs)
            g->loose.count = 4 * pairs;
    }
    private = (o->variables - g->constants.count - g->loose.count) / 2;
    g->guarded = o->variables - g->constants.count - g->loose.count - private;
    g->constants.first = g->guarded + private;
    g->loose.first = g->constants.first + g->constants.count;
    return (struct gen_range){g->guarded, private};
}

static void place_thread(struct gen *g, uint32_t id, struct gen_range private)
{
    const uint32_t groups = (g->threads + GEN_GROUP - 1) / GEN_GROUP;
    struct gen_thread *t = &g->thread[id];

    t->id = id;
    t->frame = &g->frames[(size_t)id * g->nesting];
    t->group_first = id - id % GEN_GROUP;
    t->group_size = g->threads - t->group_first < GEN_GROUP ? g->threads - t->group_first : GEN_GROUP;
    if (g->locks >= g->threads) {
        g->homes = g->threads;
        t->home = id;
    } else {
        g->homes = groups < g->locks ? groups : g->locks;
        t->home = id / GEN_GROUP % g->homes;
    }
    t->home_count = (g->locks - t->home + g->homes - 1) / g->homes;
    t->published = GEN_NONE;
    t->own = gen_deal(private.first, private.count, g->threads, id);
    for (unsigned i = 0; i < GEN_RECENT && t->own.count; i++)
        t->recent[i] = gen_pick(&g->rng, t->own);
    t->stack[0] = g->functions ? g->functions : gen_region(g);
    t->ready_at = id;
    g->ready[id] = id;
}

static void set_shares(struct gen *g, const struct rb_gen_options *o)
{
    // Forks and joins count towards the requested share; the remainder is spread over the whole trace.
    const double sections = o->sync * (double)o->events - 2.0 * (o->threads - 1);

    g->sync_share = sections > 0 ? fixed_share(sections / (double)o->events) : 0;
    g->rich_share = fixed_share(o->rich);
    g->race_share = fixed_share(o->race);
    g->call_share = fixed_share(0.05);
    g->nest_share = fixed_share(0.15 * (1 - o->rich)); // inner sections are always mutexes
    // A lock of another thread comes from anywhere or, with less sharing more often, from the group.
    g->far_share =
        g->homes == g->threads ? fixed_share(o->sharing * (0.2 + 0.8 * o->sharing)) : fixed_share(o->sharing);
    g->near_share = fixed_share(o->sharing) - g->far_share;
}

int gen_world_make(struct gen *g, const struct rb_gen_options *o, struct rb_error *e)
{
    g->events = o->events;
    g->threads = o->threads;
    g->locks = o->locks;
    g->nesting = o->nesting;
    g->functions = o->functions;
    g->regions = o->functions ? o->functions + 1 : GEN_REGIONS;
    rb_rng_seed(&g->rng, o->seed);
    number_objects(g, o->rich > 0);
    make_bursts(g);

    g->thread = calloc(g->threads, sizeof(*g->thread));
    g->frames = calloc((size_t)g->threads * g->nesting, sizeof(*g->frames));
    g->ready = calloc(g->threads, sizeof(*g->ready));
    g->locked = calloc(g->locks, sizeof(*g->locked));
    g->guard_first = calloc(g->guards + 1, sizeof(*g->guard_first));
    if (!g->thread || !g->frames || !g->ready || !g->locked || !g->guard_first ||
        make_zipf(g, g->functions ? g->functions : GEN_REGIONS))
        return rb_internal(e, "out of memory for %u threads and %u locks", g->threads, g->locks);
    if (o->rich > 0) {
        g->rwlock = calloc(g->rwlocks, sizeof(*g->rwlock));
        g->channel = calloc(g->channels, sizeof(*g->channel));
        g->spin_held = calloc(g->spins, sizeof(*g->spin_held));
        g->flag_published = calloc(g->flags, sizeof(*g->flag_published));
        g->barrier = calloc(g->barriers, sizeof(*g->barrier));
        if (!g->rwlock || !g->channel || !g->spin_held || !g->flag_published || !g->barrier)
            return rb_internal(e, "out of memory for %u locks", g->objects);
        for (uint32_t i = 0; i < g->channels; i++)
            g->channel[i].fresh = GEN_SLOTS;
    }

    const struct gen_range private = divide_variables(g, o);
    for (uint64_t i = 0; i <= g->guards; i++)
        g->guard_first[i] = gen_deal(0, g->guarded, g->guards, i).first;
    for (uint32_t id = 0; id < g->threads; id++)
        place_thread(g, id, private);
    g->ready_count = g->threads;
    set_shares(g, o);
    return 0;
}

void gen_world_free(struct gen *g)
{
    free(g->thread);
    free(g->frames);
    free(g->ready);
    free(g->locked);
    free(g->guard_first);
    free(g->rwlock);
    free(g->channel);
    free(g->spin_held);
    free(g->flag_published);
    free(g->barrier);
    free(g->zipf_cut);
    free(g->zipf_alias);
}
