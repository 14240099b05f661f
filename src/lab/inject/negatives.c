// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lab/inject/negatives.h"

#include <stdlib.h>

#define TRIES        24u   // attempts for each negative wanted
#define REACH        1000u // maximum number of events between the two
#define LOOK_BACK    256u  // events of a thread searched for the sections around an access
#define WHOLE_WINDOW 200u  // a trace of at most this many events is one window

const char *const rb_proof_names[] = {"trace", "window", "hb"};

bool rb_reach_alloc(struct rb_reach *r, const struct rb_model *m)
{
    r->round = 0;
    r->threads = calloc(m->threads + 1, sizeof(*r->threads));
    r->objects = calloc(m->locks + 1, sizeof(*r->objects));
    r->readers = calloc(m->locks + 1, sizeof(*r->readers));
    return r->threads && r->objects && r->readers;
}

void rb_reach_free(struct rb_reach *r)
{
    free(r->threads);
    free(r->objects);
    free(r->readers);
}

// ---- happens-before ------------------------------------------------------------------------------------

// Propagates happens-before over one event from the threads and objects that the first access has reached,
// by the table of docs/reference/trace-format.md. An entry that equals the round is reached.
static void hand_on(struct rb_reach *r, const struct rb_event *e)
{
    uint32_t *thread = &r->threads[e->thread];
    uint32_t *object = &r->objects[e->target], *readers = &r->readers[e->target];
    const uint32_t yes = r->round;

    switch (e->op) {
    case RB_ACQUIRE:
        if (*object == yes || *readers == yes)
            *thread = yes;
        break;
    case RB_RD_ACQ:
    case RB_LOAD:
    case RB_WAIT:
    case RB_LEAVE:
        if (*object == yes)
            *thread = yes;
        break;
    case RB_RD_REL:
        if (*thread == yes)
            *readers = yes;
        break;
    case RB_RELEASE:
    case RB_STORE:
        *object = *thread == yes ? yes : 0;
        break;
    case RB_RMW:
        if (*object == yes)
            *thread = yes;
        if (*thread == yes)
            *object = yes;
        break;
    case RB_RMW_REL:
    case RB_POST:
    case RB_ARRIVE:
        if (*thread == yes)
            *object = yes;
        break;
    default:
        break;
    }
}

// Returns true if the access at place `i` is ordered before the one at `j`. Only the events between them
// decide.
static bool is_ordered(struct rb_reach *r, const struct rb_order *o, uint32_t i, uint32_t j)
{
    const struct rb_model *m = o->model;

    r->round++;
    r->threads[rb_order_thread(o, o->event[i])] = r->round;
    for (uint32_t k = i + 1; k < j; k++) {
        if (o->event[k] >= m->count)
            continue;
        const struct rb_event *e = &m->base[o->event[k]];
        if (e->op == RB_FORK && r->threads[e->thread] == r->round)
            r->threads[e->target] = r->round;
        else if (e->op == RB_JOIN && r->threads[e->target] == r->round)
            r->threads[e->thread] = r->round;
        else if (rb_op_info[e->op].space == RB_SPACE_LOCK)
            hand_on(r, e);
    }
    return r->threads[rb_order_thread(o, o->event[j])] == r->round;
}

// ---- candidates ----------------------------------------------------------------------------------------

static bool is_access(const struct rb_order *o, uint32_t place)
{
    return o->event[place] < o->model->count && o->model->base[o->event[place]].op < RB_FIRST_NON_ACCESS;
}

// Returns the nearest conflicting access at most `reach` before place `j`; RB_NO_EVENT: none.
static uint32_t find_partner(const struct rb_order *o, uint32_t j, uint32_t reach)
{
    const struct rb_event *b = &o->model->base[o->event[j]];

    for (uint32_t i = j; i-- > 0 && j - i <= reach;) {
        if (!is_access(o, i))
            continue;
        const struct rb_event *a = &o->model->base[o->event[i]];
        if (a->target == b->target && a->thread != b->thread && (a->op == RB_WRITE || b->op == RB_WRITE))
            return i;
    }
    return RB_NO_EVENT;
}

// Walks back in the thread of event `a` to the next outermost acquire of a section around `a`. *steps
// counts the events passed. Returns RB_NO_EVENT if there is none within reach.
static uint32_t next_held(const struct rb_model *m, uint32_t a, uint32_t *steps)
{
    const uint32_t *list = m->thread_list + m->thread_start[m->base[a].thread];
    const uint32_t index = m->thread_index[a];

    while (*steps < index && *steps < LOOK_BACK) {
        const uint32_t take = list[index - ++*steps];
        if (rb_class_takes(m->class[take]) &&
            (m->tie[take] == RB_NO_EVENT || m->thread_index[m->tie[take]] > index))
            return take;
    }
    return RB_NO_EVENT;
}

// Returns true if both are in sections of one lock, not both to read. Then R3 allows no reordering with
// both next.
static bool share_lock(const struct rb_model *m, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0, x; (x = next_held(m, a, &i)) != RB_NO_EVENT;)
        for (uint32_t j = 0, y; (y = next_held(m, b, &j)) != RB_NO_EVENT;)
            if (m->base[x].target == m->base[y].target &&
                (m->class[x] == RB_CLASS_TAKE || m->class[y] == RB_CLASS_TAKE))
                return true;
    return false;
}

// Sets the window for the proof; false if no window of that size holds both.
static bool place_window(const struct rb_order *o, struct rb_negative *n, uint32_t window)
{
    const uint32_t near = n->at[1] - n->at[0] + 1;

    n->from = 0;
    n->to = o->count;
    if (o->count <= window || o->count <= WHOLE_WINDOW)
        return true;
    const uint32_t width = near > window ? near : window, margin = (width - near) / 2;
    n->from = n->at[0] > margin ? n->at[0] - margin : 0;
    if (n->from > o->count - width)
        n->from = o->count - width;
    n->to = n->from + width;
    return near <= window;
}

// Determines the proof for a candidate; false if the candidate is a race.
static bool judge_candidate(const struct rb_order *o, struct rb_solver *solver, uint32_t window, bool locked,
                            struct rb_negative *n, struct rb_solver_counts *counts)
{
    n->proof = RB_PROOF_HB;
    if (locked) {
        *n = (struct rb_negative){.at = {n->at[0], n->at[1]}, .to = o->count, .proof = RB_PROOF_TRACE};
        return true;
    }
    if (!place_window(o, n, window))
        return true;
    const enum rb_meeting m = rb_solver_meeting(solver, o, n->from, n->to, n->at[0], n->at[1], counts);
    if (m == RB_MEETING_NEVER)
        n->proof = n->to - n->from == o->count ? RB_PROOF_TRACE : RB_PROOF_WINDOW;
    return m != RB_MEETING_FOUND;
}

uint32_t rb_negatives(struct rb_reach *r, const struct rb_order *o, struct rb_solver *solver, uint32_t window,
                      struct rb_rng *rng, struct rb_negative *out, uint32_t most,
                      struct rb_solver_counts *counts, uint64_t *races)
{
    const uint32_t most_tries = TRIES * most;
    uint32_t found = 0, of_locks = 0;

    for (uint32_t tries = 0; tries < most_tries && found < most; tries++) {
        const bool picky = tries < most_tries / 2; // first the kinds a window can prove, then any kind
        const uint32_t j = (uint32_t)rb_rng_below(rng, o->count);
        const uint32_t reach = picky ? window - 1 : REACH,
                       i = is_access(o, j) ? find_partner(o, j, reach) : RB_NO_EVENT;
        bool known = i == RB_NO_EVENT;
        for (uint32_t k = 0; k < found && !known; k++)
            known = out[k].at[0] == i && out[k].at[1] == j;
        if (known || !is_ordered(r, o, i, j))
            continue;
        // A common lock is the simplest proof: at most half of the negatives have it.
        const bool locked = share_lock(o->model, o->event[i], o->event[j]);
        if (locked && picky && of_locks >= (most + 1) / 2)
            continue;
        out[found] = (struct rb_negative){.at = {i, j}};
        if (judge_candidate(o, solver, window, locked, &out[found], counts)) {
            found++;
            of_locks += locked;
        } else {
            ++*races;
        }
    }
    return found;
}
