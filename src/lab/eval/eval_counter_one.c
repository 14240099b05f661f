// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One counterexample: its two orders, the conditions that must stay true of them, and its files.
#define _GNU_SOURCE 1
#include "lab/eval/eval_counter.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "lab/eval/eval_private.h"
#include "trace/std/std.h"

// The trace that is being shrunk.
struct work {
    const struct rb_eval_counter_plan *plan;
    const struct rb_eval_detector *detector;
    const struct rb_eval_label *label;
    uint64_t seed;
    struct rb_reader reader, base_reader;
    bool has_reader, has_base;
    struct rb_events injected, base;
    uint32_t *base_order;      // the events of `injected` without the pair, in the order of the base
    uint64_t variable;         // of the pair
    uint64_t *fork_of;         // for each thread the event that creates it, or UINT64_MAX
    struct rb_event *small[2]; // room for the smaller orders: injected, base
    uint32_t small_count[2];
    struct rb_error *error;
};

// ---- the two orders ------------------------------------------------------------------------------------

struct named {
    const char *name;
    uint32_t id;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

// Returns for each thread of the base its number in the labelled trace: the same if the names are equal,
// else found by name.
static uint32_t *match_threads(const struct work *w)
{
    const uint64_t mine = w->injected.table[RBT_THREADS], theirs = w->base.table[RBT_THREADS];
    struct named *names = calloc(mine + 1, sizeof(*names));
    char(*scratch)[32] = calloc(mine + 1, sizeof(*scratch));
    uint32_t *to = calloc(theirs + 1, sizeof(*to));

    for (uint32_t i = 0; names && scratch && i < mine; i++)
        names[i] = (struct named){rb_reader_name(&w->reader, RBT_THREADS, i, scratch[i]), i};
    if (names && scratch)
        qsort(names, mine, sizeof(*names), by_name);
    for (uint32_t i = 0; names && scratch && to && i < theirs; i++) {
        char own[32], same[32];
        const struct named wanted = {rb_reader_name(&w->base_reader, RBT_THREADS, i, own), 0};
        const struct named *found = bsearch(&wanted, names, mine, sizeof(*names), by_name);
        to[i] = found ? found->id : UINT32_MAX;
        if (i < mine && !strcmp(wanted.name, rb_reader_name(&w->reader, RBT_THREADS, i, same)))
            to[i] = i;
    }
    if (!names || !scratch) {
        free(to);
        to = NULL;
    }
    free(names);
    free(scratch);
    return to;
}

static int does_not_match(const struct work *w, uint64_t event)
{
    return rb_bad_input(w->error, "%s: event %" PRIu64 " of its base %s is not in it", w->label->path, event,
                        w->base_reader.path);
}

// Matches event k of each thread with event k of that thread in the other order, the pair left out.
static int match_events(struct work *w, const uint32_t *thread)
{
    uint64_t *next =
        calloc(w->injected.table[RBT_THREADS] + 1, sizeof(*next)); // start of the search
    int status = 0;

    w->base_order = calloc(w->base.count + 1, sizeof(*w->base_order));
    if (!next || !w->base_order)
        status = rb_internal(w->error, "out of memory for %s", w->label->path);
    for (uint64_t i = 0; status == 0 && i < w->base.count; i++) {
        const uint32_t t = thread[w->base.at[i].thread];
        if (t == UINT32_MAX) {
            status = does_not_match(w, i);
            break;
        }
        uint64_t k = next[t];
        while (k < w->injected.count &&
               (w->injected.at[k].thread != t || k == w->label->events[0] || k == w->label->events[1]))
            k++;
        next[t] = k + 1;
        if (k >= w->injected.count || w->injected.at[k].op != w->base.at[i].op)
            status = does_not_match(w, i);
        else
            w->base_order[i] = (uint32_t)k;
    }
    if (status == 0 && w->base.count + 2 != w->injected.count)
        status = rb_bad_input(w->error,
                              "%s: %" PRIu64 " events, and its base %s has %" PRIu64 "; expected two fewer",
                              w->label->path, w->injected.count, w->base_reader.path, w->base.count);
    free(next);
    return status;
}

// Finds the fork of each thread. A thread that keeps events keeps the fork that created it: a trace with
// threads of no origin is less informative.
static int find_forks(struct work *w)
{
    w->fork_of = malloc((w->injected.table[RBT_THREADS] + 1) * sizeof(*w->fork_of));
    if (!w->fork_of)
        return rb_internal(w->error, "out of memory for %s", w->label->path);
    for (uint64_t i = 0; i < w->injected.table[RBT_THREADS]; i++)
        w->fork_of[i] = UINT64_MAX;
    for (uint64_t i = w->injected.count; i-- > 0;)
        if (w->injected.at[i].op == RB_FORK)
            w->fork_of[w->injected.at[i].target] = i;
    return 0;
}

static bool has_forks(const struct work *w, const bool *kept)
{
    for (uint64_t i = 0; i < w->injected.count; i++) {
        const uint64_t fork = w->fork_of[w->injected.at[i].thread];
        if (kept[i] && fork != UINT64_MAX && !kept[fork])
            return false;
    }
    return true;
}

// Returns the path of the base as given to inject, or relative to the folder of the labels.
static char *base_path(const struct rb_eval_labels *labels, const struct rb_eval_label *l)
{
    char *path = NULL;

    if (access(l->base, R_OK) == 0)
        return strdup(l->base);
    return asprintf(&path, "%s/%s", labels->dir, l->base) < 0 ? NULL : path;
}

static int load_orders(struct work *w, const char *base, struct rb_error *e)
{
    int status = w->plan->open(w->label->path, &w->reader, e);

    if (status < 0)
        return status;
    w->has_reader = true;
    status = w->plan->open(base, &w->base_reader, e);
    if (status < 0)
        return status;
    w->has_base = true;
    if ((status = rb_reader_load_names(&w->reader, e)) < 0 ||
        (status = rb_reader_load_names(&w->base_reader, e)) < 0 ||
        (status = rb_events_load(&w->reader, &w->injected, e)) < 0 ||
        (status = rb_events_load(&w->base_reader, &w->base, e)) < 0 ||
        (status = rb_eval_trace_check(&w->injected, &w->reader, w->label, e)) < 0)
        return status;
    w->variable = w->injected.at[w->label->events[0]].target;
    uint32_t *threads = match_threads(w);
    status = threads ? match_events(w, threads) : rb_internal(e, "out of memory for %s", w->label->path);
    free(threads);
    if (status == 0)
        status = find_forks(w);
    for (int i = 0; i < 2 && status == 0; i++) {
        w->small[i] = calloc(w->injected.count + 1, sizeof(*w->small[i]));
        if (!w->small[i])
            status = rb_internal(e, "out of memory for %s", w->label->path);
    }
    return status;
}

static void unload_orders(struct work *w)
{
    if (w->has_reader)
        rb_reader_close(&w->reader);
    if (w->has_base)
        rb_reader_close(&w->base_reader);
    rb_events_free(&w->injected);
    rb_events_free(&w->base);
    free(w->base_order);
    free(w->fork_of);
    free(w->small[0]);
    free(w->small[1]);
}

// ---- is it still one? ----------------------------------------------------------------------------------

static void make_small(struct work *w, const struct rb_eval_numbers *n, const bool *kept)
{
    w->small_count[0] = w->small_count[1] = 0;
    for (uint64_t i = 0; i < w->injected.count; i++)
        if (kept[i])
            w->small[0][w->small_count[0]++] = rb_eval_renumber(n, w->injected.at[i]);
    for (uint64_t i = 0; i < w->base.count; i++)
        if (kept[w->base_order[i]])
            w->small[1][w->small_count[1]++] = rb_eval_renumber(n, w->injected.at[w->base_order[i]]);
}

// Returns the number of the pair's later event in the small trace.
static uint64_t later_of(const struct work *w, const bool *kept)
{
    uint64_t at = 0;

    for (uint64_t i = 0; i < w->label->events[1]; i++)
        at += kept[i];
    return at;
}

struct listening {
    uint64_t event;
    bool found;
};

static void hear_warning(void *context, uint64_t first, uint64_t second, uint64_t variable)
{
    struct listening *l = context;

    (void)first, (void)variable;
    l->found |= second == l->event;
}

// Returns 1 if the engine misses the pair; 0 if it finds it or rejects the trace.
static int is_missed(const struct work *w, const struct rb_eval_numbers *n, uint64_t later,
                     struct rb_error *e)
{
    struct listening l = {.event = later};
    const struct rb_replay_options o = {.engine = w->detector->engine,
                                        .sampler = w->detector->sampler,
                                        .seed = w->seed,
                                        .warned = hear_warning,
                                        .warned_context = &l};
    const int fd = memfd_create("railbird-eval", MFD_CLOEXEC);
    struct rb_result result;
    struct rb_reader reader;

    if (fd < 0)
        return rb_internal(e, "cannot make a file in memory: %m");
    int status = rb_eval_trace_write(w->small[0], w->small_count[0], n, NULL, "file in memory", fd, e);
    if (status < 0)
        return status;
    status = rb_reader_open_fd(&reader, fd, "file in memory", e);
    if (status < 0)
        return status;
    status = rb_replay(&reader, &o, &result, e);
    rb_result_free(&result);
    rb_reader_close(&reader);
    if (status < 0)
        return e->fault == RB_FAULT_INPUT ? 0 : status;
    return !l.found;
}

static int is_still_missed(void *context, const bool *kept)
{
    struct work *w = context;
    struct rb_eval_numbers n;
    struct rb_error e = {0};

    if (!has_forks(w, kept))
        return 0;
    int status = rb_eval_numbers_make(&n, &w->injected, kept, w->variable);
    if (status < 0) {
        rb_internal(&e, "out of memory for %s", w->label->path);
    } else {
        make_small(w, &n, kept);
        struct rb_events injected = {.at = w->small[0], .count = w->small_count[0]},
                         base = {.at = w->small[1], .count = w->small_count[1]};
        memcpy(injected.table, n.count, sizeof(injected.table));
        memcpy(base.table, n.count, sizeof(base.table));
        base.table[RBT_VARIABLES]--;
        status = w->plan->verify(&base, &injected, &e);
        if (status == 0)
            status = is_missed(w, &n, later_of(w, kept), &e);
        else if (e.fault == RB_FAULT_INPUT)
            status = 0;
    }
    rb_eval_numbers_free(&n);
    if (status < 0)
        *w->error = e;
    return status;
}

// ---- writing -------------------------------------------------------------------------------------------

static int write_trace(const struct work *w, int which, const struct rb_eval_numbers *n, const char *path,
                       struct rb_error *e)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

    if (fd < 0)
        return rb_bad_input(e, "%s: cannot write: %m", path);
    const int status =
        rb_eval_trace_write(w->small[which], w->small_count[which], n, &w->reader, path, fd, e);
    if (status == 0 && close(fd) < 0)
        return rb_bad_input(e, "%s: cannot write: %m", path);
    return status;
}

static int write_text(const char *path, const char *to, struct rb_error *e)
{
    struct rb_reader r;
    uint64_t foreign, renamed;
    int status = rb_reader_open(&r, path, e);

    if (status < 0)
        return status;
    FILE *out = fopen(to, "w");
    status = out ? rb_reader_load_names(&r, e) : rb_bad_input(e, "%s: cannot write: %m", to);
    if (status == 0)
        status = rb_std_export(&r, out, &foreign, &renamed, e);
    if (out && fclose(out) == EOF && status == 0)
        status = rb_bad_input(e, "%s: cannot write: %m", to);
    rb_reader_close(&r);
    return status;
}

static int write_files(struct work *w, const struct rb_eval *v, const struct rb_eval_counter *c,
                       const bool *kept)
{
    struct rb_eval_numbers n = {0};
    char *stem = rb_eval_counter_stem(v, c), *path[3] = {NULL};
    static const char *const ending[3] = {".rbt", ".base.rbt", ".std"};
    int status = stem ? rb_eval_numbers_make(&n, &w->injected, kept, w->variable) : -ENOMEM;

    for (int i = 0; i < 3 && status == 0; i++)
        if (asprintf(&path[i], "%s/%s/%s%s", w->plan->dir, w->detector->name, stem, ending[i]) < 0) {
            path[i] = NULL;
            status = -ENOMEM;
        }
    if (status < 0) {
        rb_internal(w->error, "out of memory for %s", w->label->path);
    } else {
        make_small(w, &n, kept);
        status = write_trace(w, 0, &n, path[0], w->error);
        if (status == 0)
            status = write_trace(w, 1, &n, path[1], w->error);
        if (status == 0)
            status = write_text(path[0], path[2], w->error);
    }
    for (int i = 0; i < 3; i++)
        free(path[i]);
    rb_eval_numbers_free(&n);
    free(stem);
    return status;
}

// ---- one -----------------------------------------------------------------------------------------------

static double seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void describe_counter(struct rb_eval_counter *c, const struct work *w, const bool *kept)
{
    char scratch[32];

    for (int i = 0; i < 2; i++) {
        const struct rb_event *e = &w->injected.at[w->label->events[i]];
        snprintf(c->threads[i], sizeof(c->threads[i]), "%s",
                 rb_reader_name(&w->reader, RBT_THREADS, e->thread, scratch));
        c->op[i] = e->op;
        c->events[i] = 0;
        for (uint64_t k = 0; k < w->label->events[i]; k++)
            c->events[i] += kept[k];
    }
}

int rb_eval_counter_make(const struct rb_eval *v, const struct rb_eval_counter_plan *plan,
                         struct rb_eval_counter *c, struct rb_error *e)
{
    const double started = seconds_now();
    struct work w = {.plan = plan,
                     .detector = &v->detectors[c->detector],
                     .label = &v->labels->traces[c->trace],
                     .seed = v->seed,
                     .error = e};
    struct rb_shrink_outcome outcome = {0};
    char *base = NULL;
    bool *kept = NULL;
    int status;

    if (!w.label->base)
        return rb_bad_input(e, "%s: labels.json does not name its base, which --counterexamples needs",
                            w.label->path);
    base = base_path(v->labels, w.label);
    if (base && access(base, R_OK) < 0)
        status =
            rb_bad_input(e, "%s: its base %s is not here and not in %s, and --counterexamples needs it: %m",
                         w.label->path, w.label->base, v->labels->dir);
    else
        status = base ? load_orders(&w, base, e) : rb_internal(e, "out of memory for %s", w.label->path);
    const uint32_t pair[2] = {(uint32_t)w.label->events[0], (uint32_t)w.label->events[1]};
    const struct rb_shrink s = {.events = w.injected.at,
                                .count = (uint32_t)w.injected.count,
                                .pinned = pair,
                                .pinned_count = 2,
                                .holds = is_still_missed,
                                .context = &w,
                                .seconds = plan->seconds};
    if (status == 0 && !(kept = malloc(w.injected.count + 1)))
        status = rb_internal(e, "out of memory for %s", w.label->path);
    if (status == 0) {
        memset(kept, true, w.injected.count);
        status = is_still_missed(&w, kept);
        c->unproven = status == 0;
        c->before = c->after = w.injected.count;
    }
    if (status == 1) {
        status = rb_shrink(&s, kept, &outcome);
        if (status < 0)
            rb_internal(e, "out of memory for %s", w.label->path);
        c->after = outcome.kept;
        c->tests = outcome.tests;
        c->minimal = outcome.minimal;
        describe_counter(c, &w, kept);
        if (status == 0)
            status = write_files(&w, v, c, kept);
    }
    free(kept);
    unload_orders(&w);
    free(base);
    c->seconds = seconds_now() - started;
    return status;
}
