// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the comparison as JSON. Each metric is {"mean", "sd"}, times are {"median", "min", "max"}. An
// undefined value is null: recall when the baseline found nothing, sd of a single run.
#include <stdlib.h>

#include "lab/compare/compare.h"
#include "lab/compare/compare_write.h"
#include "report/page.h"

static const char *const names[] = {
#define RB_METRIC(name, meaning) #name,
#include "lab/compare/compare_metrics.def"
#undef RB_METRIC
};

static json_t *timing_json(const struct rb_summary *s)
{
    return json_pack("{s:o, s:o, s:o}", "median", rb_json_number(s->median), "min", rb_json_number(s->low),
                     "max", rb_json_number(s->high));
}

static json_t *metric_json(const struct rb_compare_row *row, int m)
{
    const struct rb_summary *s = &row->of[m];

    if (m == RB_M_seconds || m == RB_M_cpu_seconds)
        return timing_json(s);
    return json_pack("{s:o, s:o}", "mean", rb_json_number(s->mean), "sd", rb_json_number(s->sd));
}

static json_t *row_json(const struct rb_comparison *c, const struct rb_compare_row *row)
{
    json_t *o = json_pack("{s:s, s:s, s:b, s:i, s:o, s:b}", "engine", row->engine->name, "sampler",
                          row->sampler.text, "baseline", row == &c->rows[c->baseline], "runs", (int)c->runs,
                          "nominal", rb_json_number(row->nominal), "regions_are_locations", row->by_location);

    for (int m = 0; o && m < RB_METRICS; m++)
        if (json_object_set_new(o, names[m], metric_json(row, m)) < 0)
            return json_decref(o), NULL;
    if (o && json_object_set_new(o, "speedup", rb_json_number(row->speedup)) < 0)
        return json_decref(o), NULL;
    return o;
}

// Describes the yardstick, which does not depend on the seed.
static json_t *baseline_json(const struct rb_comparison *c)
{
    const struct rb_summary *of = c->rows[c->baseline].of;

    return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "engine", "fasttrack", "sampler", "all",
                     "warnings", rb_json_number(of[RB_M_warnings].mean), "racy_variables",
                     rb_json_number(of[RB_M_racy_variables].mean), "static_races",
                     rb_json_number(of[RB_M_static_races].mean), "rare", rb_json_count(c->rare), "frequent",
                     rb_json_count(c->frequent), "seconds", timing_json(&of[RB_M_seconds]), "cpu_seconds",
                     timing_json(&of[RB_M_cpu_seconds]));
}

static json_t *trace_json(const struct rb_comparison *c)
{
    json_t *rows = json_array();
    char *name = rb_utf8(c->trace);

    for (size_t i = 0; rows && i < c->row_count; i++)
        if (json_array_append_new(rows, row_json(c, &c->rows[i])) < 0) {
            json_decref(rows);
            rows = NULL;
        }
    json_t *o = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "trace", name ? name : "",
                          "events", rb_json_count(c->events), "threads", rb_json_count(c->threads), "locks",
                          rb_json_count(c->locks), "variables", rb_json_count(c->variables), "accesses",
                          rb_json_count(c->accesses), "lenient_releases", rb_json_count(c->lenient_releases),
                          "lenient_acquires", rb_json_count(c->lenient_acquires), "baseline",
                          baseline_json(c), "rows", rows);
    free(name);
    return o;
}

json_t *rb_compare_json(const struct rb_comparison *c, size_t traces, const struct rb_compare_plan *plan)
{
    json_t *list = json_array(), *engines = json_array(), *samplers = json_array();
    int bad = 0;

    for (size_t i = 0; i < traces; i++)
        bad |= json_array_append_new(list, trace_json(&c[i]));
    for (size_t i = 0; i < plan->engine_count; i++)
        bad |= json_array_append_new(engines, json_string(plan->engines[i]->name));
    for (size_t i = 0; i < plan->sampler_count; i++)
        bad |= json_array_append_new(samplers, json_string(plan->samplers[i].text));
    json_t *o =
        json_pack("{s:i, s:o, s:o, s:o, s:o}", "runs", (int)plan->runs, "seed", rb_json_count(plan->seed),
                  "engines", engines, "samplers", samplers, "traces", list);
    if (bad) {
        json_decref(o);
        return NULL;
    }
    return o;
}
