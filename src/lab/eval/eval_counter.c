// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Makes the counterexamples of all engines, distributed over threads as the evaluation is.
#define _GNU_SOURCE 1
#include "lab/eval/eval_counter.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct crew {
    const struct rb_eval *v;
    const struct rb_eval_counter_plan *plan;
    struct rb_eval_counters *c;
    pthread_mutex_t lock;
    // protected by the lock
    size_t next, done;
    int status;
    struct rb_error error;
};

static void *serve_misses(void *context)
{
    struct crew *s = context;

    pthread_mutex_lock(&s->lock);
    while (s->status == 0 && s->next < s->c->count) {
        struct rb_eval_counter *c = &s->c->list[s->next++];
        struct rb_error e = {0};
        pthread_mutex_unlock(&s->lock);
        const int status = rb_eval_counter_make(s->v, s->plan, c, &e);
        pthread_mutex_lock(&s->lock);
        if (status < 0 && s->status == 0) {
            s->status = status;
            s->error = e;
        }
        s->done++;
        if (s->plan->progress)
            s->plan->progress(s->plan->progress_context, s->done, s->c->count);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

// Orders by distance for a limited number of counterexamples: a race that is missed at a short distance is
// the most instructive.
static int by_distance(const void *a, const void *b, void *context)
{
    const struct rb_eval *v = context;
    const struct rb_eval_counter *x = a, *y = b;
    const uint64_t p = v->labels->traces[x->trace].distance, q = v->labels->traces[y->trace].distance;

    return p != q ? (p < q ? -1 : 1) : x->trace < y->trace ? -1 : x->trace > y->trace;
}

static int list_misses(struct rb_eval_counters *c, const struct rb_eval *v, uint32_t limit,
                       struct rb_error *e)
{
    c->list = calloc(v->detector_count * v->labels->count + 1, sizeof(*c->list));
    if (!c->list)
        return rb_internal(e, "out of memory for the counterexamples");
    for (size_t d = 0; d < v->detector_count; d++) {
        const size_t first = c->count;
        if (!v->detectors[d].exact)
            continue;
        for (size_t i = 0; i < v->labels->count; i++)
            if (!v->cells[d * v->labels->count + i].found)
                c->list[c->count++] = (struct rb_eval_counter){.detector = d, .trace = i};
        if (limit && c->count - first > limit) {
            qsort_r(c->list + first, c->count - first, sizeof(*c->list), by_distance, (void *)v);
            c->count = first + limit;
        }
    }
    return 0;
}

static int make_folder(const char *path, struct rb_error *e)
{
    struct stat st;

    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode)))
        return 0;
    return rb_bad_input(e, "--counterexamples: %s: cannot make this folder: %s", path, strerror(errno));
}

static int make_folders(const struct rb_eval *v, const char *dir, struct rb_error *e)
{
    int status = make_folder(dir, e);

    for (size_t d = 0; d < v->detector_count && status == 0; d++) {
        char *path;
        if (!v->detectors[d].exact)
            continue;
        if (asprintf(&path, "%s/%s", dir, v->detectors[d].name) < 0)
            return rb_internal(e, "out of memory");
        status = make_folder(path, e);
        free(path);
    }
    return status;
}

int rb_eval_counterexamples(struct rb_eval_counters *c, const struct rb_eval *v,
                            const struct rb_eval_counter_plan *plan, struct rb_error *e)
{
    struct crew s = {.v = v, .plan = plan, .c = c, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[RB_EVAL_JOBS];
    uint32_t started = 0;

    *c = (struct rb_eval_counters){0};
    int status = list_misses(c, v, plan->limit, e);
    if (status == 0)
        status = make_folders(v, plan->dir, e);
    if (status < 0)
        return status;
    while (started + 1 < plan->jobs && started + 1 < c->count &&
           pthread_create(&threads[started], NULL, serve_misses, &s) == 0)
        started++;
    serve_misses(&s);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    if (s.status < 0) {
        *e = s.error;
        return s.status;
    }
    return rb_eval_counters_index(v, c, plan->dir, e);
}

void rb_eval_counters_free(struct rb_eval_counters *c)
{
    free(c->list);
    *c = (struct rb_eval_counters){0};
}
