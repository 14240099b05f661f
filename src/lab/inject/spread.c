// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The policy: the distance of a pair and the moves to reach it. A trace is made of a few draws:
//
//   first      the event of the pair that becomes the first
//   order      sections keep their order (one trace in four, the kind that a happens-before detector always
//              finds), or may change it
//   sections   the number of critical sections of its thread that the second event takes along when it goes
//              late, and the first when it goes early: this puts a release and an acquire of one lock
//              between the two
//   distance   the maximum for half of the traces, for the others drawn log-uniformly up to that
//
// The solver comes last: if a requested distance is not reached, and for one trace in eight.
#include "lab/inject/spread.h"

#include <math.h>

#define KEEP_SHARE    0.25 // of traces: sections keep their order
#define FULL_SHARE    0.5  // of traces: as far apart as possible
#define SOLVER_SHARE  0.125
#define MOST_ROUNDS   4u   // of a late and an early move
#define MOST_TAKEN    8u   // sections taken along
#define MOST_LOOKED   512u // events of a thread searched for the beginning of its sections
#define MOST_WINDOWS  4u   // for the solver in one trace
#define PAPER_WINDOWS 400u

bool rb_spread_alloc(struct rb_spread *s, const struct rb_model *m, struct rb_solver *solver)
{
    s->solver = solver;
    const bool order = rb_order_alloc(&s->order, m), partition = rb_partition_alloc(&s->partition, m);
    return order && partition;
}

void rb_spread_free(struct rb_spread *s)
{
    rb_order_free(&s->order);
    rb_partition_free(&s->partition);
}

// The draws of one trace.
struct draws {
    uint32_t first, second; // numbers of the pair, in their final order
    bool keep;
    uint32_t takes_late[MOST_ROUNDS], takes_early[MOST_ROUNDS];
};

static uint32_t draw_taken(struct rb_rng *rng)
{
    const uint64_t k = rb_rng_below(rng, 10);

    return k < 3 ? 0 : k < 6 ? 1 : k < 8 ? 2 : 3 + (uint32_t)rb_rng_below(rng, MOST_TAKEN - 2);
}

static struct draws draw_choices(const struct rb_model *m, struct rb_rng *rng)
{
    const uint32_t swap = (uint32_t)rb_rng_below(rng, 2);
    struct draws d = {.first = m->count + swap, .second = m->count + 1 - swap};

    d.keep = rb_rng_chance(rng, KEEP_SHARE);
    for (unsigned i = 0; i < MOST_ROUNDS; i++) {
        d.takes_late[i] = draw_taken(rng);
        d.takes_early[i] = draw_taken(rng);
    }
    return d;
}

// Returns the event of the pair's thread that begins (going back: late) or ends (going on: early) the
// `sections`-th critical section from it; the pair's event itself if there are none.
static uint32_t seed_of(const struct rb_order *o, uint32_t pair, uint32_t sections, bool late)
{
    const struct rb_model *m = o->model;
    const uint32_t thread = o->thread[pair - m->count], slot = o->slot[pair - m->count];
    const uint32_t *list = m->thread_list + m->thread_start[thread];
    const uint32_t length = m->thread_start[thread + 1] - m->thread_start[thread];
    uint32_t seed = pair;

    for (uint32_t k = 0; k < MOST_LOOKED && sections > 0; k++) {
        if (late ? slot < k + 1 : slot + k >= length)
            break;
        const uint32_t event = late ? list[slot - 1 - k] : list[slot + k];
        if (late ? rb_class_takes(m->class[event]) : rb_class_gives(m->class[event])) {
            seed = event;
            sections--;
        }
    }
    return seed;
}

// Returns the distance of the pair after the partition is applied; 0 also if the pair would be in the wrong
// order.
static uint32_t projected_distance(const struct rb_partition *p, const struct rb_order *o,
                                   const struct draws *d)
{
    const uint32_t a = rb_partition_place(p, o, d->first), b = rb_partition_place(p, o, d->second);

    return a < b ? b - a - 1 : 0;
}

static uint32_t current_distance(const struct rb_order *o, const struct draws *d)
{
    return o->place[d->first] < o->place[d->second] ? rb_order_distance(o) : 0;
}

// Returns the end of the stretch for a late move that brings the pair `goal` apart and little further: the
// place behind the last event needed.
static uint32_t cut_late(const struct rb_partition *p, const struct rb_order *o, const struct draws *d,
                         uint32_t goal)
{
    const uint32_t a = o->place[d->first], b = o->place[d->second];
    uint32_t between = a < p->from ? p->from - a - 1 : 0;

    for (uint32_t i = p->from; i < b; i++)
        between += p->second[i - p->from];
    for (uint32_t i = p->from; i < p->to; i++) {
        between += !p->second[i - p->from] && i > a;
        if (between >= goal && i > a && i > b)
            return i + 1;
    }
    return p->to;
}

static uint32_t cut_early(const struct rb_partition *p, const struct rb_order *o, const struct draws *d,
                          uint32_t goal)
{
    const uint32_t a = o->place[d->first], b = o->place[d->second];
    uint32_t between = b >= p->to ? b - p->to : 0;

    for (uint32_t i = a + 1; i < p->to; i++)
        between += !p->second[i - p->from];
    for (uint32_t i = p->to; i-- > p->from;) {
        between += p->second[i - p->from] && i < b;
        if (between >= goal && i < a && i < b)
            return i;
    }
    return p->from;
}

static bool split_order(struct rb_spread *s, const struct draws *d, uint32_t sections, bool late,
                        uint32_t limit)
{
    const uint32_t seed = seed_of(&s->order, late ? d->second : d->first, sections, late);

    return late ? limit > s->order.place[d->first] && limit > s->order.place[seed] &&
                      rb_partition_late(&s->partition, &s->order, seed, limit, d->keep)
                : limit <= s->order.place[seed] &&
                      rb_partition_early(&s->partition, &s->order, seed, limit, d->keep);
}

// Makes one move, with as many sections as possible; true if the pair is further apart.
static bool move_apart(struct rb_spread *s, const struct draws *d, uint32_t sections, bool late,
                       uint32_t goal)
{
    struct rb_order *o = &s->order;
    const uint32_t now = current_distance(o, d), everything = late ? o->count : 0;

    for (;; sections /= 2) {
        if (split_order(s, d, sections, late, everything)) {
            const uint32_t reached = projected_distance(&s->partition, o, d);
            if (reached > now && reached > goal) {
                const uint32_t limit =
                    late ? cut_late(&s->partition, o, d, goal) : cut_early(&s->partition, o, d, goal);
                // Fewer events to move leave more freedom, so the goal is still reached; if not, move all.
                if (!split_order(s, d, sections, late, limit) ||
                    projected_distance(&s->partition, o, d) < goal)
                    split_order(s, d, sections, late, everything);
            }
            if (projected_distance(&s->partition, o, d) > now) {
                rb_partition_apply(&s->partition, o);
                return true;
            }
        }
        if (sections == 0)
            return false;
    }
}

// Moves late and early by turns until the goal is reached or no event moves.
static void run_scheduler(struct rb_spread *s, const struct draws *d, uint32_t goal,
                          const struct rb_spread_plan *plan, struct rb_spread_facts *facts)
{
    for (unsigned round = 0; round < MOST_ROUNDS && !rb_spread_stopped(plan); round++) {
        const uint32_t before = facts->moves;
        if (current_distance(&s->order, d) < goal)
            facts->moves += move_apart(s, d, d->takes_late[round], true, goal);
        if (current_distance(&s->order, d) < goal)
            facts->moves += move_apart(s, d, d->takes_early[round], false, goal);
        if (facts->moves == before)
            return;
    }
}

// ---- the solver ----------------------------------------------------------------------------------------

// Sets a window that holds both, if they are near enough, or else one with its
// larger part on the far side of one event.
static void window_at(const struct rb_order *o, const struct draws *d, uint32_t width, bool at_second,
                      uint32_t *from, uint32_t *to)
{
    const uint32_t a = o->place[d->first], b = o->place[d->second];
    const uint32_t low = a < b ? a : b, high = a < b ? b : a;
    uint32_t begin;

    if (width > o->count)
        width = o->count;
    if (high - low + 1 <= width / 2)
        begin = low > (width - (high - low)) / 2 ? low - (width - (high - low)) / 2 : 0;
    else if (at_second)
        begin = b > width / 4 ? b - width / 4 : 0;
    else
        begin = a + width / 4 > width ? a + width / 4 - width : 0;
    if (begin > o->count - width)
        begin = o->count - width;
    *from = begin;
    *to = begin + width;
}

static void run_solver(struct rb_spread *s, const struct draws *d, uint32_t goal, unsigned windows,
                       bool paper, const struct rb_spread_plan *plan, struct rb_spread_facts *facts)
{
    unsigned idle = 0;

    for (unsigned k = 0;
         k < windows && idle < 2 && rb_order_distance(&s->order) < goal && !rb_spread_stopped(plan); k++) {
        uint32_t from, to;
        window_at(&s->order, d, plan->window, k % 2 == 0, &from, &to);
        idle = rb_solver_widen(s->solver, &s->order, from, to, d->first, goal, paper, &facts->solver)
                   ? 0
                   : idle + 1;
    }
}

static uint32_t draw_goal(struct rb_rng *rng, uint32_t most)
{
    return (uint32_t)exp(rb_rng_unit(rng) * log((double)most + 1));
}

void rb_spread_pair(struct rb_spread *s, uint32_t point, const struct rb_spread_plan *plan,
                    struct rb_rng *rng, struct rb_spread_facts *facts)
{
    const struct rb_model *m = s->order.model;
    const struct draws d = draw_choices(m, rng);
    const bool full = rb_rng_chance(rng, FULL_SHARE), solver = rb_rng_chance(rng, SOLVER_SHARE);
    struct rb_rng goals = *rng;
    uint32_t goal = plan->bounded && plan->distance < m->count ? (uint32_t)plan->distance : m->count;

    *facts = (struct rb_spread_facts){0};
    rb_order_start(&s->order, m, point);
    if (plan->encoding == RB_ENCODING_PAPER) {
        run_solver(s, &d, goal, PAPER_WINDOWS, true, plan, facts);
        return;
    }
    run_scheduler(s, &d, goal, plan, facts);
    if (!plan->bounded && !full) {
        goal = draw_goal(&goals, rb_order_distance(&s->order));
        facts->moves = 0;
        rb_order_start(&s->order, m, point);
        run_scheduler(s, &d, goal, plan, facts);
    }
    if (rb_order_distance(&s->order) < goal && (plan->bounded || solver))
        run_solver(s, &d, goal, MOST_WINDOWS, false, plan, facts);
}
