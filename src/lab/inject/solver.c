// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lab/inject/solver.h"

#include <stdlib.h>

#include "lab/inject/constraints.h"

#define CALLS_A_WINDOW 6u
#define MEMORY_MB      1024u

// Budget of one call: steps, so that the result is the same on every machine, or milliseconds for the
// encoding of the paper, which is measured by time. 0: no such limit.
static const struct {
    unsigned steps, milliseconds;
} budget[] = {{3000000, 0}, {0, 5000}}; // tight, paper

void rb_solver_init(struct rb_solver *s)
{
    *s = (struct rb_solver){0};
    pthread_mutex_init(&s->mutex, NULL);
}

void rb_solver_destroy(struct rb_solver *s)
{
    pthread_mutex_destroy(&s->mutex);
}

void rb_solver_interrupt(struct rb_solver *s)
{
    pthread_mutex_lock(&s->mutex);
    s->interrupted = true;
    if (s->live)
        rb_z3.interrupt(s->live);
    pthread_mutex_unlock(&s->mutex);
}

// Any failure in a context (memory, an interrupt while constraints are stated) invalidates its answers: a
// constraint may be missing.
static _Thread_local bool failed;

static void on_error(Z3_context z, Z3_error_code code)
{
    (void)z;
    failed |= code != Z3_OK;
}

static void set_budget(const struct rb_window *w)
{
    const Z3_params p = rb_z3.mk_params(w->z);

    rb_z3.params_inc_ref(w->z, p);
    if (budget[w->plain].milliseconds)
        rb_z3.params_set_uint(w->z, p, rb_z3.mk_string_symbol(w->z, "timeout"),
                              budget[w->plain].milliseconds);
    if (budget[w->plain].steps)
        rb_z3.params_set_uint(w->z, p, rb_z3.mk_string_symbol(w->z, "rlimit"), budget[w->plain].steps);
    rb_z3.params_set_uint(w->z, p, rb_z3.mk_string_symbol(w->z, "max_memory"), MEMORY_MB);
    rb_z3.params_set_bool(w->z, p, rb_z3.mk_string_symbol(w->z, "ctrl_c"), false);
    rb_z3.solver_set_params(w->z, w->solver, p);
    rb_z3.params_dec_ref(w->z, p);
}

// Opens a context of its own for each window, so that all its memory is returned with it. The window must
// be closed in either case.
static bool open_window(struct rb_solver *s, struct rb_window *w, bool prefix)
{
    failed = false;
    w->count = w->to - w->from;
    w->position = calloc(w->count + 1, sizeof(*w->position));
    w->happens = prefix ? calloc(w->count + 1, sizeof(*w->happens)) : NULL;
    pthread_mutex_lock(&s->mutex);
    const bool good = !s->interrupted && w->position && (!prefix || w->happens) && rb_z3_load(NULL) == 0;
    if (good) {
        const Z3_config config = rb_z3.mk_config();
        w->z = s->live = rb_z3.mk_context(config);
        rb_z3.del_config(config);
    }
    pthread_mutex_unlock(&s->mutex);
    if (!good)
        return false;
    rb_z3.set_error_handler(w->z, on_error);
    w->solver = rb_z3.mk_simple_solver(w->z);
    rb_z3.solver_inc_ref(w->z, w->solver);
    set_budget(w);
    rb_window_constrain(w);
    return !w->no_memory;
}

static void close_window(struct rb_solver *s, struct rb_window *w)
{
    if (w->z) {
        pthread_mutex_lock(&s->mutex);
        s->live = NULL;
        pthread_mutex_unlock(&s->mutex);
        rb_z3.solver_dec_ref(w->z, w->solver);
        rb_z3.del_context(w->z);
    }
    free(w->position);
    free(w->happens);
}

static Z3_lbool check_window(struct rb_solver *s, struct rb_window *w, struct rb_solver_counts *counts)
{
    Z3_lbool answer = rb_z3.solver_check(w->z, w->solver);

    pthread_mutex_lock(&s->mutex);
    if (failed || s->interrupted)
        answer = Z3_L_UNDEF;
    pthread_mutex_unlock(&s->mutex);
    counts->calls++;
    counts->sat += answer == Z3_L_TRUE;
    counts->unsat += answer == Z3_L_FALSE;
    counts->unknown += answer == Z3_L_UNDEF;
    return answer;
}

// ---- moving apart --------------------------------------------------------------------------------------

struct widening {
    struct rb_window w;
    struct rb_order *order;
    uint32_t first, other;               // of the pair
    bool first_inside, other_inside;     // in the window
    uint32_t first_number, other_number; // in the window
    Z3_ast *between;                     // tight: [count] this event is between the two
    struct place {
        int64_t position;
        uint32_t at, event;
    } * places;
};

// Returns the number of events of the window between the two, or before the second, or behind the first.
static uint32_t current_gain(const struct widening *x)
{
    const uint32_t a = x->order->place[x->first], b = x->order->place[x->other];

    if (x->first_inside && x->other_inside)
        return a < b ? b - a - 1 : 0;
    return x->other_inside ? b - x->w.from : x->w.to - 1 - a;
}

static void define_between(struct widening *x)
{
    struct rb_window *w = &x->w;

    for (uint32_t k = 0; k < w->count; k++) {
        if ((x->first_inside && k == x->first_number) || (x->other_inside && k == x->other_number))
            continue;
        x->between[k] = rb_z3.mk_const(w->z, rb_z3.mk_int_symbol(w->z, (int)(2 * w->count + k)),
                                       rb_z3.mk_bool_sort(w->z));
        if (x->first_inside)
            rb_z3.solver_assert(w->z, w->solver,
                                rb_z3.mk_implies(w->z, x->between[k], rb_window_less(w, x->first_number, k)));
        if (x->other_inside)
            rb_z3.solver_assert(w->z, w->solver,
                                rb_z3.mk_implies(w->z, x->between[k], rb_window_less(w, k, x->other_number)));
    }
}

static Z3_ast at_least(const struct widening *x, uint32_t wanted)
{
    const struct rb_window *w = &x->w;
    const Z3_sort integers = rb_z3.mk_int_sort(w->z);
    Z3_ast terms[2];
    uint32_t n = 0;

    if (w->plain) {
        // Position of the second minus position of the first; an event outside counts as the edge of the
        // window.
        const Z3_ast low = x->first_inside ? w->position[x->first_number] : rb_z3.mk_int(w->z, 0, integers);
        const Z3_ast high =
            x->other_inside ? w->position[x->other_number] : rb_z3.mk_int(w->z, (int)w->count + 1, integers);
        terms[0] = high;
        terms[1] = low;
        return rb_z3.mk_gt(w->z, rb_z3.mk_sub(w->z, 2, terms), rb_z3.mk_int(w->z, (int)wanted, integers));
    }
    Z3_ast *list = calloc(w->count + 1, sizeof(*list));
    int *weights = calloc(w->count + 1, sizeof(*weights));
    Z3_ast sum = rb_z3.mk_false(w->z); // without memory there is no solution
    for (uint32_t k = 0; list && weights && k < w->count; k++)
        if (x->between[k]) {
            list[n] = x->between[k];
            weights[n++] = 1;
        }
    if (n >= wanted && list && weights)
        sum = rb_z3.mk_pbge(w->z, n, list, weights, (int)wanted);
    free(list);
    free(weights);
    return sum;
}

static int by_position(const void *a, const void *b)
{
    const struct place *p = a, *q = b;

    if (p->position != q->position)
        return p->position < q->position ? -1 : 1;
    return p->at < q->at ? -1 : p->at > q->at;
}

// Reads the order that the solver found. Events at one position have no order between them and keep their
// current order.
static bool read_model(struct widening *x)
{
    struct rb_window *w = &x->w;
    const Z3_model model = rb_z3.solver_get_model(w->z, w->solver);
    bool good = true;

    rb_z3.model_inc_ref(w->z, model);
    for (uint32_t k = 0; k < w->count && good; k++) {
        Z3_ast value;
        x->places[k] = (struct place){.at = k, .event = rb_window_event(w, k)};
        good = rb_z3.model_eval(w->z, model, w->position[k], true, &value) &&
               rb_z3.get_numeral_int64(w->z, value, &x->places[k].position);
    }
    rb_z3.model_dec_ref(w->z, model);
    if (!good)
        return false;
    // Constraints refer to the numbers that events had when they were made. The new order is therefore kept
    // apart from the order that they were made from.
    qsort(x->places, w->count, sizeof(*x->places), by_position);
    return true;
}

static void apply_places(struct widening *x)
{
    for (uint32_t k = 0; k < x->w.count; k++) {
        x->order->event[x->w.from + k] = x->places[k].event;
        x->order->place[x->places[k].event] = x->w.from + k;
    }
}

// Returns the gain in the order found, before it is applied.
static uint32_t found_gain(const struct widening *x)
{
    uint32_t a = 0, b = 0;

    for (uint32_t k = 0; k < x->w.count; k++) {
        a = x->places[k].event == x->first ? k : a;
        b = x->places[k].event == x->other ? k : b;
    }
    if (x->first_inside && x->other_inside)
        return a < b ? b - a - 1 : 0;
    return x->other_inside ? b : x->w.count - 1 - a;
}

// Asks for increasing distances: half of the remainder, and half of that after a failure.
static bool search_distance(struct rb_solver *s, struct widening *x, uint32_t enough,
                            struct rb_solver_counts *counts)
{
    struct rb_window *w = &x->w;
    const uint32_t most = w->count - x->first_inside - x->other_inside;
    uint32_t now = current_gain(x), step = most > now ? (most - now + 1) / 2 : 0;
    bool changed = false;

    for (unsigned calls = 0; calls < CALLS_A_WINDOW && step > 0 && now < enough; calls++) {
        uint32_t wanted = now + step < most ? now + step : most;
        if (wanted > enough)
            wanted = enough;
        rb_z3.solver_push(w->z, w->solver);
        rb_z3.solver_assert(w->z, w->solver, at_least(x, wanted));
        const Z3_lbool answer = check_window(s, w, counts);
        const bool better = answer == Z3_L_TRUE && read_model(x);
        rb_z3.solver_pop(w->z, w->solver, 1);
        if (better) {
            changed = true;
            now = found_gain(x);
            step = (most - now + 1) / 2 < step ? (most - now + 1) / 2 : step;
        } else {
            step /= 2;
        }
        if (answer == Z3_L_UNDEF)
            break;
    }
    return changed;
}

bool rb_solver_widen(struct rb_solver *s, struct rb_order *o, uint32_t from, uint32_t to, uint32_t first,
                     uint32_t enough, bool paper, struct rb_solver_counts *counts)
{
    struct widening x = {
        .w = {.order = o, .from = from, .to = to, .waiting = {RB_NO_EVENT, RB_NO_EVENT}, .plain = paper},
        .order = o,
        .first = first,
        .other = 2 * o->model->count + 1 - first};
    const uint32_t a = o->place[x.first], b = o->place[x.other];
    bool changed = false;

    x.first_inside = a >= from && a < to;
    x.other_inside = b >= from && b < to;
    x.first_number = a - from;
    x.other_number = b - from;
    if ((!x.first_inside && !x.other_inside) || (a > b && !(x.first_inside && x.other_inside)))
        return false;
    const uint32_t now = current_gain(&x), apart = a < b ? b - a - 1 : 0;
    x.places = calloc(to - from, sizeof(*x.places));
    x.between = calloc(to - from, sizeof(*x.between));
    if (x.places && x.between) {
        if (open_window(s, &x.w, false)) {
            if (!paper)
                define_between(&x);
            changed = search_distance(s, &x, enough > apart ? now + (enough - apart) : now, counts);
        }
        close_window(s, &x.w);
        if (changed)
            apply_places(&x);
    }
    free(x.places);
    free(x.between);
    return changed;
}

// ---- meeting -------------------------------------------------------------------------------------------

enum rb_meeting rb_solver_meeting(struct rb_solver *s, const struct rb_order *o, uint32_t from, uint32_t to,
                                  uint32_t one, uint32_t other, struct rb_solver_counts *counts)
{
    struct rb_window w = {.order = o, .from = from, .to = to, .waiting = {one - from, other - from}};
    Z3_lbool answer = Z3_L_UNDEF;

    if (open_window(s, &w, true))
        answer = check_window(s, &w, counts);
    close_window(s, &w);
    return answer == Z3_L_FALSE ? RB_MEETING_NEVER : answer == Z3_L_TRUE ? RB_MEETING_FOUND : RB_MEETING_OPEN;
}
