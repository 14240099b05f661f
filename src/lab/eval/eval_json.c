// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the evaluation as JSON. Counts of samplers are means over the runs; an undefined value is null.
#include <stdlib.h>

#include "lab/compare/compare_write.h"
#include "lab/eval/eval.h"
#include "report/page.h"

// Returns a JSON string. JSON is UTF-8; names of files need not be.
static json_t *text_json(const char *t)
{
    char *clean = rb_utf8(t);
    json_t *s = clean ? json_string(clean) : NULL;

    free(clean);
    return s;
}

static json_t *score_json(const struct rb_eval *v, size_t detector, size_t program)
{
    const struct rb_eval_score s = rb_eval_score(v, detector, program);
    uint64_t lost = 0;

    for (size_t i = 0; i < v->labels->count; i++)
        lost += (program == RB_EVAL_ALL || v->labels->traces[i].program == program) &&
                rb_eval_missed_by_all(v, i);
    // The mean of many runs may differ from a whole number by a rounding error.
    const double found = round(s.found * 1e9) / 1e9;
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "program",
                     program == RB_EVAL_ALL ? json_null() : text_json(v->labels->programs[program]), "traces",
                     rb_json_count(s.traces), "found", rb_json_number(found), "missed",
                     rb_json_number((double)s.traces - found), "recall", rb_json_number(s.recall), "found_sd",
                     rb_json_number(s.found_sd), "seconds", rb_json_number(s.seconds), "rate",
                     rb_json_number(s.rate), "warnings", rb_json_number(s.warnings), "sampled",
                     rb_json_number(s.sampled), "accesses", rb_json_number(s.accesses), "false_alarms",
                     json_pack("{s:o, s:o}", "trace", rb_json_count(s.false_alarms[RB_PROOF_TRACE]), "window",
                               rb_json_count(s.false_alarms[RB_PROOF_WINDOW])),
                     "missed_by_all", rb_json_count(lost));
}

static json_t *bins_json(const struct rb_eval *v, size_t detector)
{
    struct rb_eval_bin bins[RB_EVAL_BINS];
    const size_t n = rb_eval_bins(v, detector, bins);
    json_t *list = json_array();
    int bad = 0;

    for (size_t i = 0; i < n; i++)
        if (bins[i].traces)
            bad |= json_array_append_new(
                list, json_pack("{s:o, s:o, s:o, s:o, s:o}", "low", rb_json_count(bins[i].low), "high",
                                rb_json_count(bins[i].high), "traces", rb_json_count(bins[i].traces), "found",
                                rb_json_number(bins[i].found), "recall",
                                rb_json_number(bins[i].found / (double)bins[i].traces)));
    if (bad) {
        json_decref(list);
        return NULL;
    }
    return list;
}

static json_t *detector_json(const struct rb_eval *v, size_t detector)
{
    const struct rb_eval_detector *d = &v->detectors[detector];
    json_t *programs = json_array();
    int bad = 0;

    for (size_t p = 0; p < v->labels->program_count; p++)
        bad |= json_array_append_new(programs, score_json(v, detector, p));
    json_t *o = json_pack("{s:s, s:s, s:s, s:i, s:o, s:o, s:o}", "detector", d->name, "engine",
                          d->engine->name, "sampler", d->sampler.text, "runs", (int)d->runs, "total",
                          score_json(v, detector, RB_EVAL_ALL), "programs", programs, "distance",
                          bins_json(v, detector));
    if (bad) {
        json_decref(o);
        return NULL;
    }
    return o;
}

static json_t *rule_json(const struct rb_eval *v, const struct rb_eval_rule *r)
{
    json_t *o = json_pack("{s:s, s:o, s:o, s:n}", "claim", r->claim, "traces", rb_json_count(r->traces),
                          "violations", rb_json_count(r->violations), "first");

    if (o && r->violations &&
        json_object_set_new(o, "first",
                            json_pack("{s:o, s:o}", "file",
                                      text_json(v->labels->traces[r->example_trace].file), "event",
                                      rb_json_count(r->example_event))) < 0) {
        json_decref(o);
        return NULL;
    }
    return o;
}

json_t *rb_eval_json(const struct rb_eval *v)
{
    json_t *detectors = json_array(), *rules = json_array(), *lost = json_array(), *programs = json_array();
    uint64_t violations = 0;
    int bad = 0;

    for (size_t d = 0; d < v->detector_count; d++)
        bad |= json_array_append_new(detectors, detector_json(v, d));
    for (size_t p = 0; p < v->labels->program_count; p++)
        bad |= json_array_append_new(programs, text_json(v->labels->programs[p]));
    for (size_t i = 0; i < RB_EVAL_RULES; i++) {
        violations += v->rules[i].violations;
        if (v->rules[i].checked)
            bad |= json_array_append_new(rules, rule_json(v, &v->rules[i]));
    }
    for (size_t i = 0; i < v->labels->count; i++)
        if (rb_eval_missed_by_all(v, i))
            bad |= json_array_append_new(lost, text_json(v->labels->traces[i].file));
    json_t *o = json_pack("{s:o, s:o, s:o, s:o, s:i, s:o, s:{s:o, s:o, s:o}, s:o, s:o, s:o, s:o}", "dir",
                          text_json(v->labels->dir), "traces", rb_json_count(v->labels->count), "events",
                          rb_json_count(v->events), "programs", programs, "runs", (int)v->runs, "seed",
                          rb_json_count(v->seed), "negatives", "trace",
                          rb_json_count(v->labels->negatives[RB_PROOF_TRACE]), "window",
                          rb_json_count(v->labels->negatives[RB_PROOF_WINDOW]), "hb",
                          rb_json_count(v->labels->negatives[RB_PROOF_HB]), "detectors", detectors,
                          "missed_by_all", lost, "theory", rules, "violations", rb_json_count(violations));
    if (bad) {
        json_decref(o);
        return NULL;
    }
    return o;
}
