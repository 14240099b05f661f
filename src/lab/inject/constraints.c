// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lab/inject/constraints.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

// ---- Z3 ------------------------------------------------------------------------------------------------

struct rb_z3 rb_z3;

// The error of the only attempt; empty: none.
static char problem[256];

static void load_library(void)
{
    static const char *const files[] = {"libz3.so.4", "libz3.so"}; // Debian's name, and the common one
    void *library = NULL;

    for (size_t i = 0; i < RB_LENGTH(files) && !library; i++) {
        library = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
        if (!library && !problem[0])
            snprintf(problem, sizeof(problem), "%s", dlerror());
    }
    if (!library)
        return;
    problem[0] = 0;
#define RB_Z3(name)                                      \
    *(void **)&rb_z3.name = dlsym(library, "Z3_" #name); \
    if (!rb_z3.name && !problem[0])                      \
        snprintf(problem, sizeof(problem), "it has no Z3_%s", #name);
#include "lab/inject/z3_functions.def"
#undef RB_Z3
}

int rb_z3_load(struct rb_error *e)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, load_library);
    if (!problem[0])
        return 0;
    if (e)
        rb_bad_input(e, "the solver Z3 cannot be loaded: %s; install it (Debian: libz3-4)", problem);
    return -ENOENT;
}

// ---- windows -------------------------------------------------------------------------------------------

// An event of a window, with its object, variable or thread as the key: after sorting, events of one key
// are adjacent.
struct item {
    uint64_t key;
    uint32_t at; // number in the window
};

struct section {
    uint32_t take, give; // RB_NO_EVENT: not in the window
    uint32_t thread;
    bool reads;
};

static int by_key(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

// ---- terms of Z3 ---------------------------------------------------------------------------------------

static void assert_term(struct rb_window *w, Z3_ast term)
{
    rb_z3.solver_assert(w->z, w->solver, term);
}

static Z3_ast both_hold(const struct rb_window *w, Z3_ast a, Z3_ast b)
{
    return rb_z3.mk_and(w->z, 2, (Z3_ast[]){a, b});
}

static Z3_ast comes_before(const struct rb_window *w, uint32_t a, uint32_t b)
{
    const Z3_ast less = rb_window_less(w, a, b);

    return w->happens ? both_hold(w, w->happens[a], less) : less;
}

// Asserts that b happens only after a has.
static void add_need(struct rb_window *w, uint32_t b, uint32_t a)
{
    assert_term(w, w->happens ? rb_z3.mk_implies(w->z, w->happens[b], comes_before(w, a, b))
                              : comes_before(w, a, b));
}

// Asserts the same if b's thread or its fork requires a. Then a must also happen for b to be the next event.
static void add_follow(struct rb_window *w, uint32_t b, uint32_t a)
{
    add_need(w, b, a);
    if (b == w->waiting[0] || b == w->waiting[1])
        assert_term(w, w->happens[a]);
}

// Asserts `term` if p and q both happen.
static void assert_when(struct rb_window *w, uint32_t p, uint32_t q, Z3_ast term)
{
    assert_term(w,
                w->happens ? rb_z3.mk_implies(w->z, both_hold(w, w->happens[p], w->happens[q]), term) : term);
}

static Z3_ast either_holds(const struct rb_window *w, Z3_ast a, Z3_ast b)
{
    return rb_z3.mk_or(w->z, 2, (Z3_ast[]){a, b});
}

// ---- the rules -----------------------------------------------------------------------------------------

static uint8_t class_of(const struct rb_window *w, uint32_t k)
{
    return w->order->model->class[rb_window_event(w, k)];
}

static uint32_t thread_of(const struct rb_window *w, uint32_t k)
{
    return rb_order_thread(w->order, rb_window_event(w, k));
}

// Returns the number in the window of the event that event k is tied to.
static uint32_t tie_of(const struct rb_window *w, uint32_t k)
{
    const uint32_t tie = w->order->model->tie[rb_window_event(w, k)];

    if (tie == RB_NO_EVENT || w->order->place[tie] < w->from || w->order->place[tie] >= w->to)
        return RB_NO_EVENT;
    return w->order->place[tie] - w->from;
}

static void thread_order(struct rb_window *w, const struct item *items, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        add_follow(w, items[i].at, items[i - 1].at);
}

// Returns true if event k is a fork or join that names the thread.
static bool names_thread(const struct rb_window *w, uint32_t k, uint32_t thread)
{
    return class_of(w, k) == RB_CLASS_THREAD && w->order->model->base[rb_window_event(w, k)].target == thread;
}

// R4: orders a fork or join with its neighbours on either side. The neighbours are events of the thread it
// names, or other forks and joins that name it.
static void constrain_fork_join(struct rb_window *w, uint32_t k)
{
    const uint32_t thread = (uint32_t)w->order->model->base[rb_window_event(w, k)].target;

    for (uint32_t i = k; i-- > 0;)
        if (thread_of(w, i) == thread || names_thread(w, i, thread)) {
            add_need(w, k, i);
            break;
        }
    for (uint32_t i = k + 1; i < w->count; i++)
        if (thread_of(w, i) == thread) {
            add_follow(w, i, k);
            break;
        }
}

// R2: keeps a read apart from a write that it does not see.
static void read_apart(struct rb_window *w, uint32_t read, uint32_t sees, uint32_t other)
{
    const uint32_t t = thread_of(w, other);
    const Z3_ast after = rb_window_less(w, read, other);

    if (sees == RB_NO_EVENT) { // the write it sees is before the window, or there is none
        if (w->plain || t != thread_of(w, read))
            assert_when(w, read, other, after);
        return;
    }
    const Z3_ast ahead = rb_window_less(w, other, sees);
    if (!w->plain && t == thread_of(w, read)) {
        if (other < read) // so it can only come before the write that is seen
            assert_when(w, read, other, ahead);
    } else if (!w->plain && t == thread_of(w, sees)) {
        if (other > sees)
            assert_when(w, read, other, after);
    } else {
        assert_when(w, read, other, either_holds(w, ahead, after));
    }
}

static void constrain_variable(struct rb_window *w, const struct item *items, uint32_t count)
{
    const struct rb_model *m = w->order->model;

    for (uint32_t i = 0; i < count; i++) {
        const uint32_t k = items[i].at;
        uint32_t sees, readers = 0;
        if (class_of(w, k) == RB_CLASS_READ) {
            sees = tie_of(w, k);
            if (sees != RB_NO_EVENT)
                add_need(w, k, sees);
            for (uint32_t j = 0; j < count; j++)
                if (class_of(w, items[j].at) == RB_CLASS_WRITE && items[j].at != sees)
                    read_apart(w, k, sees, items[j].at);
            continue;
        }
        for (uint32_t j = i + 1; j < count; j++)
            readers += class_of(w, items[j].at) == RB_CLASS_READ && tie_of(w, items[j].at) == k;
        if (w->happens || readers == m->readers[rb_window_event(w, k)])
            continue;
        for (uint32_t j = 0; j < count; j++) // read behind the window: the last write in it
            if (j != i && class_of(w, items[j].at) == RB_CLASS_WRITE)
                add_need(w, k, items[j].at);
    }
}

static void keep_apart(struct rb_window *w, const struct section *a, const struct section *b)
{
    if ((a->reads && b->reads) || a->thread == b->thread)
        return;
    if (a->take == RB_NO_EVENT && b->take == RB_NO_EVENT)
        return;
    if (a->take == RB_NO_EVENT)
        add_need(w, b->take, a->give);
    else if (b->take == RB_NO_EVENT)
        add_need(w, a->take, b->give);
    else if (a->give == RB_NO_EVENT && b->give == RB_NO_EVENT)
        return; // both are open at the end: impossible in a correct order
    else if (a->give == RB_NO_EVENT)
        assert_when(w, a->take, b->take, comes_before(w, b->give, a->take));
    else if (b->give == RB_NO_EVENT)
        assert_when(w, a->take, b->take, comes_before(w, a->give, b->take));
    else
        assert_when(w, a->take, b->take,
                    either_holds(w, comes_before(w, a->give, b->take), comes_before(w, b->give, a->take)));
}

static void constrain_lock(struct rb_window *w, const struct item *items, uint32_t count)
{
    struct section *sections = malloc(count * sizeof(*sections));
    uint32_t n = 0;

    if (!sections) {
        w->no_memory = true;
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t k = items[i].at, tie = tie_of(w, k);
        const uint8_t class = class_of(w, k);
        struct section s = {k, tie, thread_of(w, k), class == RB_CLASS_RTAKE || class == RB_CLASS_RGIVE};
        if (rb_class_gives(class)) {
            if (tie != RB_NO_EVENT) // its acquire made the entry
                continue;
            s.take = RB_NO_EVENT;
            s.give = k;
        }
        sections[n++] = s;
    }
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = i + 1; j < n; j++)
            keep_apart(w, &sections[i], &sections[j]);
    free(sections);
}

// R5: asserts that a look comes after the signal before it and before the signal behind it.
static void constrain_ordered(struct rb_window *w, const struct item *items, uint32_t count)
{
    uint32_t signal = RB_NO_EVENT, looks = 0; // looks: since the last signal

    for (uint32_t i = 0; i < count; i++) {
        const uint32_t k = items[i].at;
        if (signal != RB_NO_EVENT)
            add_need(w, k, items[signal].at);
        if (class_of(w, k) == RB_CLASS_LOOK) {
            looks++;
            continue;
        }
        for (uint32_t j = i - looks; j < i; j++)
            add_need(w, k, items[j].at);
        signal = i;
        looks = 0;
    }
}

// ---- the whole window ----------------------------------------------------------------------------------

static void make_positions(struct rb_window *w)
{
    const Z3_sort integers = rb_z3.mk_int_sort(w->z);
    const Z3_ast one = rb_z3.mk_int(w->z, 1, integers), last = rb_z3.mk_int(w->z, (int)w->count, integers);

    for (uint32_t k = 0; k < w->count; k++) {
        w->position[k] = rb_z3.mk_const(w->z, rb_z3.mk_int_symbol(w->z, (int)k), integers);
        if (w->happens)
            w->happens[k] = rb_z3.mk_const(w->z, rb_z3.mk_int_symbol(w->z, (int)(w->count + k)),
                                           rb_z3.mk_bool_sort(w->z));
        if (w->plain) {
            assert_term(w, rb_z3.mk_ge(w->z, w->position[k], one));
            assert_term(w, rb_z3.mk_le(w->z, w->position[k], last));
        }
    }
    if (w->plain)
        assert_term(w, rb_z3.mk_distinct(w->z, w->count, w->position));
}

typedef void rule_fn(struct rb_window *w, const struct item *items, uint32_t count);

// Returns the rule that the event is under, besides that of its thread.
static rule_fn *rule_of(uint8_t class)
{
    switch (class) {
    case RB_CLASS_READ:
    case RB_CLASS_WRITE:
        return constrain_variable;
    case RB_CLASS_TAKE:
    case RB_CLASS_GIVE:
    case RB_CLASS_RTAKE:
    case RB_CLASS_RGIVE:
        return constrain_lock;
    case RB_CLASS_LOOK:
    case RB_CLASS_SIGNAL:
        return constrain_ordered;
    default:
        return NULL;
    }
}

static void for_each_group(struct rb_window *w, struct item *items, uint32_t count, rule_fn *rule)
{
    qsort(items, count, sizeof(*items), by_key);
    for (uint32_t i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && items[end].key == items[i].key;)
            end++;
        rule(w, items + i, end - i);
    }
}

void rb_window_constrain(struct rb_window *w)
{
    static rule_fn *const rules[] = {constrain_variable, constrain_lock, constrain_ordered};
    struct item *items = malloc((w->count + 1) * sizeof(*items));
    uint32_t n;

    if (!items) {
        w->no_memory = true;
        return;
    }
    make_positions(w);
    for (uint32_t k = 0; k < w->count; k++)
        items[k] = (struct item){thread_of(w, k), k};
    for_each_group(w, items, w->count, thread_order);
    for (size_t r = 0; r < RB_LENGTH(rules); r++) {
        n = 0;
        for (uint32_t k = 0; k < w->count; k++)
            if (rule_of(class_of(w, k)) == rules[r])
                items[n++] = (struct item){w->order->model->base[rb_window_event(w, k)].target, k};
        for_each_group(w, items, n, rules[r]);
    }
    for (uint32_t k = 0; k < w->count; k++)
        if (class_of(w, k) == RB_CLASS_THREAD)
            constrain_fork_join(w, k);
    for (int i = 0; w->happens && i < 2; i++)
        assert_term(w, rb_z3.mk_not(w->z, w->happens[w->waiting[i]]));
    free(items);
}
