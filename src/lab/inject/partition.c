// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lab/inject/partition.h"

#include <stdlib.h>

#define MOST_SCANS 200u

// The events of a thread, an object or a variable in the growing part that a scan has met, as MET_ flags.
struct rb_partition_mark {
    uint32_t scan;
    uint32_t met;
};

enum {
    MET_THREAD = 1,
    // objects
    MET_ANY = 1,       // any event of an ordered object
    MET_SIGNAL = 2,    // an event that releases
    MET_SPLIT = 4,     // late: the end of a section that began in the first part
    MET_RSPLIT = 8,    //
    MET_WHOLE = 16,    // late: a whole section. early: the beginning of a section
    MET_RWHOLE = 32,   //
    MET_PINNED = 64,   // early: a section that does not end in the first part
    MET_RPINNED = 128, //
    // variables
    MET_BLIND = 1, // late: a read without its write in the second part
    MET_WRITE = 2,
    MET_WATCHED = 4 // early: a write with a read that is not in the first part
};

bool rb_partition_alloc(struct rb_partition *p, const struct rb_model *m)
{
    const size_t n = m->count + 2;

    *p = (struct rb_partition){.model = m};
    p->second = malloc(n);
    p->forced = malloc(n);
    p->doubtful = malloc(n);
    p->seen = malloc(n * sizeof(*p->seen));
    p->buffer = malloc(n * sizeof(*p->buffer));
    p->threads = calloc(m->threads + 1, sizeof(*p->threads));
    p->objects = calloc(m->locks + 1, sizeof(*p->objects));
    p->variables = calloc(m->variables + 1, sizeof(*p->variables));
    return p->second && p->forced && p->doubtful && p->seen && p->buffer && p->threads && p->objects &&
           p->variables;
}

void rb_partition_free(struct rb_partition *p)
{
    free(p->second);
    free(p->forced);
    free(p->doubtful);
    free(p->seen);
    free(p->buffer);
    free(p->threads);
    free(p->objects);
    free(p->variables);
}

static inline uint32_t marks_of(const struct rb_partition *p, const struct rb_partition_mark *m)
{
    return m->scan == p->scan ? m->met : 0;
}

static inline void add_marks(const struct rb_partition *p, struct rb_partition_mark *m, uint32_t what)
{
    if (m->scan != p->scan)
        *m = (struct rb_partition_mark){.scan = p->scan};
    m->met |= what;
}

static inline bool is_inside(const struct rb_partition *p, const struct rb_order *o, uint32_t event)
{
    return event != RB_NO_EVENT && o->place[event] >= p->from && o->place[event] < p->to;
}

static inline bool is_second(const struct rb_partition *p, const struct rb_order *o, uint32_t event)
{
    return p->second[o->place[event] - p->from];
}

static void start_scan(struct rb_partition *p, const struct rb_order *o)
{
    p->scan++;
    memset(p->doubtful, 0, p->to - p->from);
    for (uint32_t i = p->from; i < p->to; i++)
        p->seen[o->event[i]] = 0;
}

// Returns true if the scan has met an event with which this one keeps its order, whichever the direction of
// the move (R4, R5).
static bool is_order_fixed(const struct rb_partition *p, uint32_t event)
{
    const struct rb_model *m = p->model;

    switch (m->class[event]) {
    case RB_CLASS_LOOK:
        return marks_of(p, &p->objects[m->base[event].target]) & MET_SIGNAL;
    case RB_CLASS_SIGNAL:
        return marks_of(p, &p->objects[m->base[event].target]) & MET_ANY;
    case RB_CLASS_THREAD:
        return marks_of(p, &p->threads[m->base[event].target]);
    default:
        return false;
    }
}

static void keep_in_order(struct rb_partition *p, uint32_t event)
{
    const struct rb_model *m = p->model;

    switch (m->class[event]) {
    case RB_CLASS_LOOK:
        add_marks(p, &p->objects[m->base[event].target], MET_ANY);
        break;
    case RB_CLASS_SIGNAL:
        add_marks(p, &p->objects[m->base[event].target], MET_ANY | MET_SIGNAL);
        break;
    case RB_CLASS_THREAD:
        add_marks(p, &p->threads[m->base[event].target], MET_THREAD);
        break;
    default:
        break;
    }
}

// ---- late ----------------------------------------------------------------------------------------------

// Returns true if the event must stay behind an event of the second part met so far. `doubt`: only if later
// events of the scan confirm it.
static bool must_stay_behind(const struct rb_partition *p, const struct rb_order *o, uint32_t event,
                             bool keep, bool *doubt)
{
    const struct rb_model *m = p->model;
    const uint8_t class = m->class[event];
    uint32_t had, conflict;

    switch (class) {
    case RB_CLASS_READ:
        return is_inside(p, o, m->tie[event]) && is_second(p, o, m->tie[event]);
    case RB_CLASS_WRITE:
        had = marks_of(p, &p->variables[m->base[event].target]);
        *doubt = had & MET_WRITE;
        return had & MET_BLIND;
    case RB_CLASS_TAKE:
    case RB_CLASS_RTAKE:
        had = marks_of(p, &p->objects[m->base[event].target]);
        if (had & (class == RB_CLASS_TAKE ? MET_SPLIT | MET_RSPLIT : MET_SPLIT))
            return true;
        conflict = had & (class == RB_CLASS_TAKE ? MET_WHOLE | MET_RWHOLE : MET_WHOLE);
        *doubt = conflict;
        return conflict && (keep || !is_inside(p, o, m->tie[event]));
    default:
        return is_order_fixed(p, event);
    }
}

// Puts an event into the second part.
static void keep_late(struct rb_partition *p, const struct rb_order *o, uint32_t event)
{
    const struct rb_model *m = p->model;
    const uint32_t tie = m->tie[event];
    const uint8_t class = m->class[event];

    add_marks(p, &p->threads[rb_order_thread(o, event)], MET_THREAD);
    switch (class) {
    case RB_CLASS_READ:
        if (!is_inside(p, o, tie) || !is_second(p, o, tie))
            add_marks(p, &p->variables[m->base[event].target], MET_BLIND);
        break;
    case RB_CLASS_WRITE:
        add_marks(p, &p->variables[m->base[event].target], MET_WRITE);
        break;
    case RB_CLASS_GIVE:
    case RB_CLASS_RGIVE: {
        const bool whole = is_inside(p, o, tie) && is_second(p, o, tie);
        add_marks(p, &p->objects[m->base[event].target],
                  class == RB_CLASS_GIVE ? (whole ? MET_WHOLE : MET_SPLIT)
                                         : (whole ? MET_RWHOLE : MET_RSPLIT));
        break;
    }
    default:
        keep_in_order(p, event);
    }
}

// Checks the assumptions about events of the first part. An event that breaks one is forced into the
// second. Returns true if all hold.
static bool settle_late(struct rb_partition *p, const struct rb_order *o)
{
    const struct rb_model *m = p->model;
    bool good = true;

    for (uint32_t i = p->from; i < p->to; i++) {
        const uint32_t event = o->event[i];
        if (!p->doubtful[i - p->from])
            continue;
        const bool holds = m->class[event] == RB_CLASS_WRITE
                               ? p->seen[event] == m->readers[event]
                               : is_inside(p, o, m->tie[event]) && !is_second(p, o, m->tie[event]);
        if (!holds) {
            p->forced[i - p->from] = 1;
            good = false;
        }
    }
    return good;
}

bool rb_partition_late(struct rb_partition *p, const struct rb_order *o, uint32_t seed, uint32_t to,
                       bool keep)
{
    const struct rb_model *m = p->model;

    p->from = o->place[seed];
    p->to = to;
    memset(p->forced, 0, p->to - p->from);
    p->forced[0] = 1;
    for (unsigned scans = 0; scans < MOST_SCANS; scans++) {
        start_scan(p, o);
        for (uint32_t i = p->from; i < p->to; i++) {
            const uint32_t event = o->event[i];
            bool doubt = false;
            const bool second = p->forced[i - p->from] ||
                                marks_of(p, &p->threads[rb_order_thread(o, event)]) ||
                                must_stay_behind(p, o, event, keep, &doubt);
            p->second[i - p->from] = second;
            p->doubtful[i - p->from] = doubt && !second;
            if (second)
                keep_late(p, o, event);
            else if (m->class[event] == RB_CLASS_READ && is_inside(p, o, m->tie[event]))
                p->seen[m->tie[event]]++;
        }
        if (settle_late(p, o))
            return true;
    }
    return false;
}

// ---- early ---------------------------------------------------------------------------------------------

// Returns true if the event must stay before an event of the first part met so far, which comes later in
// the order.
static bool must_stay_ahead(const struct rb_partition *p, const struct rb_order *o, uint32_t event, bool keep,
                            bool *doubt)
{
    const struct rb_model *m = p->model;
    const uint8_t class = m->class[event];
    uint32_t had, conflict;

    switch (class) {
    case RB_CLASS_READ:
        had = marks_of(p, &p->variables[m->base[event].target]);
        *doubt = had & MET_WRITE;
        return (had & MET_WRITE) && !is_inside(p, o, m->tie[event]);
    case RB_CLASS_WRITE:
        return p->seen[event] > 0 || (marks_of(p, &p->variables[m->base[event].target]) & MET_WATCHED);
    case RB_CLASS_GIVE:
    case RB_CLASS_RGIVE:
        had = marks_of(p, &p->objects[m->base[event].target]);
        if (had & (class == RB_CLASS_GIVE ? MET_PINNED | MET_RPINNED : MET_PINNED))
            return true;
        conflict = had & (class == RB_CLASS_GIVE ? MET_WHOLE | MET_RWHOLE : MET_WHOLE);
        *doubt = conflict;
        return conflict && (keep || !is_inside(p, o, m->tie[event]));
    default:
        return is_order_fixed(p, event);
    }
}

// Puts an event into the first part.
static void keep_early(struct rb_partition *p, const struct rb_order *o, uint32_t event)
{
    const struct rb_model *m = p->model;
    const uint32_t tie = m->tie[event];
    const uint8_t class = m->class[event];

    add_marks(p, &p->threads[rb_order_thread(o, event)], MET_THREAD);
    switch (class) {
    case RB_CLASS_READ:
        if (is_inside(p, o, tie))
            p->seen[tie]++;
        break;
    case RB_CLASS_WRITE:
        add_marks(p, &p->variables[m->base[event].target],
                  p->seen[event] == m->readers[event] ? MET_WRITE : MET_WRITE | MET_WATCHED);
        break;
    case RB_CLASS_TAKE:
    case RB_CLASS_RTAKE: {
        const bool whole = is_inside(p, o, tie) && !is_second(p, o, tie);
        add_marks(p, &p->objects[m->base[event].target],
                  class == RB_CLASS_TAKE ? (whole ? MET_WHOLE : MET_PINNED)
                                         : (whole ? MET_RWHOLE : MET_RPINNED));
        break;
    }
    default:
        keep_in_order(p, event);
    }
}

static bool settle_early(struct rb_partition *p, const struct rb_order *o)
{
    const struct rb_model *m = p->model;
    bool good = true;

    // The second part must also contain the write of each of its reads, and the acquire of each of its
    // releases.
    for (uint32_t i = p->from; i < p->to; i++) {
        const uint32_t tie = m->tie[o->event[i]];
        if (p->doubtful[i - p->from] && (!is_inside(p, o, tie) || !is_second(p, o, tie))) {
            p->forced[i - p->from] = 1;
            good = false;
        }
    }
    return good;
}

bool rb_partition_early(struct rb_partition *p, const struct rb_order *o, uint32_t seed, uint32_t from,
                        bool keep)
{
    p->from = from;
    p->to = o->place[seed] + 1;
    memset(p->forced, 0, p->to - p->from);
    p->forced[p->to - 1 - p->from] = 1;
    for (unsigned scans = 0; scans < MOST_SCANS; scans++) {
        start_scan(p, o);
        for (uint32_t i = p->to; i-- > p->from;) {
            const uint32_t event = o->event[i];
            bool doubt = false;
            const bool first = p->forced[i - p->from] ||
                               marks_of(p, &p->threads[rb_order_thread(o, event)]) ||
                               must_stay_ahead(p, o, event, keep, &doubt);
            p->second[i - p->from] = !first;
            p->doubtful[i - p->from] = doubt && !first;
            if (first)
                keep_early(p, o, event);
        }
        if (settle_early(p, o))
            return true;
    }
    return false;
}

// ---- both ----------------------------------------------------------------------------------------------

uint32_t rb_partition_place(const struct rb_partition *p, const struct rb_order *o, uint32_t event)
{
    const uint32_t at = o->place[event];
    uint32_t firsts = 0, seconds = 0;

    if (at < p->from || at >= p->to)
        return at;
    for (uint32_t i = p->from; i < p->to; i++) {
        firsts += !p->second[i - p->from];
        seconds += p->second[i - p->from] && i < at;
    }
    if (p->second[at - p->from])
        return p->from + firsts + seconds;
    return p->from + (at - p->from) - seconds;
}

void rb_partition_apply(const struct rb_partition *p, struct rb_order *o)
{
    uint32_t at = p->from, kept = 0;

    for (uint32_t i = p->from; i < p->to; i++) {
        const uint32_t event = o->event[i];
        if (p->second[i - p->from]) {
            p->buffer[kept++] = event;
        } else {
            o->event[at] = event;
            o->place[event] = at++;
        }
    }
    for (uint32_t k = 0; k < kept; k++, at++) {
        o->event[at] = p->buffer[k];
        o->place[p->buffer[k]] = at;
    }
}
