// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RPT (Dynamic Race Detection with O(1) Samples, POPL 2023, algorithm 2), implemented so that only its
// windows are read.
//
//   m, k, r and the beginning are those of sample/periods.h
//   n below the beginning, or r k > 64 n: the whole trace is one window. In the second case r windows would
//   leave a hole (away from the ends of the trace) with probability below n/k e^-64; the rule bounds r
//   for every delta, and the whole trace sees no less. Otherwise there are r starts, uniform in [0, n - k]. Overlapping
//   windows are merged, and each is analysed with fresh metadata, as if it were the beginning.
//
// This is sound, because only the events between two events decide if they are ordered. n, T and h come
// from the header, event i is at a computed offset, and the keys of all state are numbers named in the
// window. The work is therefore O(r k) for any n, number of variables and number of locks.
#include <stdlib.h>

#include "lab/replay/replay_state.h"
#include "sample/periods.h"

struct plan {
    uint64_t n, k, r;
};

static struct plan make_plan(const struct rb_reader *reader, const struct rb_sampler_spec *spec)
{
    const double m = rb_rpt_m(reader->header.threads_run, reader->header.locks_held);
    const uint64_t n = reader->header.events;
    const struct plan whole = {n, n, 1};
    const struct plan p = {n, rb_rpt_window(m, spec->p), rb_rpt_windows(spec->p, spec->delta)};
    const bool covered = (double)p.r * (double)p.k > 64.0 * (double)n;

    return m <= 0 || n < rb_rpt_beginning(m, spec->p) || covered ? whole : p;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

// Analyses events [from, to) with fresh metadata.
static int run_window(struct rb_state *s, uint64_t from, uint64_t to)
{
    struct rb_reader *r = s->reader;
    const uint64_t last_page = (to - 1) / r->per_page, bytes = r->bytes_read;
    const bool wide = r->layout.record_bytes == 16;
    struct rb_classes classes;
    struct rb_page page;

    s->result->windows++;
    for (uint64_t p = from / r->per_page; p <= last_page; p++) {
        int status =
            rb_reader_page(r, p, (uint32_t)(last_page - p < 63 ? last_page - p : 63), &page, s->error);
        if (status < 0)
            return status;
        const uint32_t begin = from > page.first ? (uint32_t)(from - page.first) : 0;
        const uint32_t end = to - page.first < page.count ? (uint32_t)(to - page.first) : page.count;
        rb_classify(page.words, begin, end, wide, &classes);
        status = rb_state_feed(s, &page, &classes);
        s->result->events_read += end - begin;
        if (status < 0)
            return status;
    }
    s->result->bytes_read += r->bytes_read - bytes;
    rb_state_reset(s);
    return 0;
}

int rb_windows_run(struct rb_state *s)
{
    const struct plan p = make_plan(s->reader, &s->options->sampler);
    int status = 0;

    if (p.n == 0)
        return 0;
    uint64_t *start = malloc((size_t)p.r * sizeof(*start));
    if (!start)
        return rb_internal(s->error, "out of memory for the windows");
    for (uint64_t i = 0; i < p.r; i++)
        start[i] = rb_rng_below(&s->sampler.rng, p.n - p.k + 1);
    qsort(start, (size_t)p.r, sizeof(*start), by_value);
    for (uint64_t i = 0; i < p.r && status == 0;) {
        const uint64_t from = start[i];
        uint64_t to = from + p.k;
        for (i++; i < p.r && start[i] <= to; i++)
            to = start[i] + p.k;
        status = run_window(s, from, to);
        if (s->options->progress)
            s->options->progress(s->options->progress_context, i, p.r);
    }
    free(start);
    s->result->accesses = s->reader->header.accesses; // of the whole trace, as in the rate
    return status;
}
