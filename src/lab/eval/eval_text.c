// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the table for a terminal, and the CSV. Each program has a block; the total comes last, next to the
// prompt.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lab/compare/compare_write.h"
#include "lab/eval/eval.h"

// Returns the width on a terminal.
static int text_width(const char *text)
{
    int n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

struct widths {
    int program, detector;
    bool alarms; // the labels have negatives
};

static struct widths widths_of(const struct rb_eval *v)
{
    struct widths w = {(int)strlen("1000 missed by all"), (int)strlen("detector"),
                       v->labels->negatives[RB_PROOF_TRACE] || v->labels->negatives[RB_PROOF_WINDOW]};

    for (size_t i = 0; i < v->labels->program_count; i++)
        if (text_width(v->labels->programs[i]) > w.program)
            w.program = text_width(v->labels->programs[i]);
    for (size_t i = 0; i < v->detector_count; i++)
        if (text_width(v->detectors[i].name) > w.detector)
            w.detector = text_width(v->detectors[i].name);
    return w;
}

// Writes a mean of counts: whole for engines, with one decimal for samplers.
static const char *count_text(char out[RB_NUMBER], double value, bool exact)
{
    snprintf(out, RB_NUMBER, "%.*f", exact ? 0 : 1, value);
    return out;
}

static void print_score(FILE *out, const struct rb_eval *v, const struct widths *w, size_t detector,
                        size_t program)
{
    const struct rb_eval_detector *d = &v->detectors[detector];
    const struct rb_eval_score s = rb_eval_score(v, detector, program);
    char found[RB_NUMBER], missed[RB_NUMBER], recall[RB_NUMBER], rate[RB_NUMBER], spread[RB_NUMBER] = "";

    rb_write_number(recall, RB_PERCENT, s.recall, 1);
    rb_write_number(rate, RB_RATE, s.rate, 1);
    if (100 * s.found_sd >= 0.05 * (double)s.traces)
        snprintf(spread, sizeof(spread), "±%.1f", 100 * s.found_sd / (double)s.traces);
    fprintf(out, "%s%*s  %9s %9s %8s%*s%s %10.4f %8s", d->name, w->detector - text_width(d->name), "",
            count_text(found, s.found, d->exact), count_text(missed, s.missed, d->exact), recall,
            6 - text_width(spread), "", spread, s.seconds, rate);
    if (w->alarms && d->exact)
        fprintf(out, " %6" PRIu64 " %6" PRIu64, s.false_alarms[RB_PROOF_TRACE],
                s.false_alarms[RB_PROOF_WINDOW]);
    putc('\n', out);
}

static void print_block(FILE *out, const struct rb_eval *v, const struct widths *w, size_t program)
{
    const char *name = program == RB_EVAL_ALL ? "total" : v->labels->programs[program];
    uint64_t traces = 0, lost = 0;
    char note[2][64];

    for (size_t i = 0; i < v->labels->count; i++)
        if (program == RB_EVAL_ALL || v->labels->traces[i].program == program) {
            traces++;
            lost += rb_eval_missed_by_all(v, i);
        }
    snprintf(note[0], sizeof(note[0]), "%" PRIu64 " traces", traces);
    snprintf(note[1], sizeof(note[1]), "%" PRIu64 " missed by all", lost);
    for (size_t d = 0; d < v->detector_count || d < 3; d++) {
        const char *left = d == 0 ? name : d <= 2 ? note[d - 1] : "";
        fputs(left, out);
        if (d >= v->detector_count) {
            putc('\n', out);
            continue;
        }
        fprintf(out, "%*s", w->program - text_width(left) + 2, "");
        print_score(out, v, w, d, program);
    }
}

static void print_rules(FILE *out, const struct rb_eval *v)
{
    uint64_t violations = 0;
    bool any = false;

    for (size_t i = 0; i < RB_EVAL_RULES; i++) {
        const struct rb_eval_rule *r = &v->rules[i];
        if (!r->checked)
            continue;
        if (!any)
            fputs("\nWhat must hold:\n", out);
        any = true;
        violations += r->violations;
        fprintf(out, "  %s: ", r->claim);
        if (!r->traces)
            fputs("says nothing about these traces\n", out);
        else if (!r->violations)
            fprintf(out, "true of %" PRIu64 " traces\n", r->traces);
        else
            fprintf(out, "VIOLATED in %" PRIu64 " of %" PRIu64 " traces, first in %s at event %" PRIu64 "\n",
                    r->violations, r->traces, v->labels->traces[r->example_trace].file, r->example_event);
    }
    if (any)
        fprintf(out, "  violations: %" PRIu64 "\n", violations);
}

void rb_eval_text(FILE *out, const struct rb_eval *v)
{
    const struct widths w = widths_of(v);
    const int first = w.program + 2;

    fprintf(out, "%s: %zu labelled traces of %zu programs, %" PRIu64 " events\n", v->labels->dir,
            v->labels->count, v->labels->program_count, v->events);
    fprintf(out, "%-*s%-*s  %9s %9s %8s%6s %10s %8s%s\n", first, "", w.detector, "", "", "", "recall", "",
            "analysis", "rate", w.alarms ? "  false alarms" : "");
    fprintf(out, "%-*s%-*s  %9s %9s %8s%6s %10s %8s%s\n", first, "program", w.detector, "detector", "found",
            "missed", "%", "", "s", "%", w.alarms ? "  trace window" : "");
    for (size_t p = 0; p < v->labels->program_count; p++) {
        print_block(out, v, &w, p);
        putc('\n', out);
    }
    print_block(out, v, &w, RB_EVAL_ALL);
    print_rules(out, v);
    fputs("\nfound: warned at the later access of the labelled pair. Engines see all accesses; samplers run "
          "with so",
          out);
    if (v->runs > 1)
        fprintf(out, ",\n%" PRIu32 " times: means, ± sample standard deviation", v->runs);
    fputs(v->runs > 1 ? ". More in docs/reference/lab.md.\n" : ".\nMore in docs/reference/lab.md.\n", out);
}

// ---- CSV -----------------------------------------------------------------------------------------------

static void csv_text(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"')
            putc('"', out);
        putc(*text, out);
    }
    putc('"', out);
}

// Writes a line for each trace and detector.
void rb_eval_csv(FILE *out, const struct rb_eval *v)
{
    fputs("file,program,kind,distance,reversed_sections,detector,engine,sampler,runs,found,warnings,sampled,"
          "accesses,"
          "seconds\n",
          out);
    for (size_t i = 0; i < v->labels->count; i++) {
        const struct rb_eval_label *l = &v->labels->traces[i];
        for (size_t d = 0; d < v->detector_count; d++) {
            const struct rb_eval_detector *k = &v->detectors[d];
            const struct rb_eval_cell *c = &v->cells[d * v->labels->count + i];
            csv_text(out, l->file);
            putc(',', out);
            csv_text(out, v->labels->programs[l->program]);
            fprintf(out, ",%s,%" PRIu64 ",", l->kind ? l->kind : "", l->distance);
            if (l->reversed >= 0)
                fprintf(out, "%" PRId64, l->reversed);
            putc(',', out);
            csv_text(out, k->name);
            fprintf(out, ",%s,", k->engine->name);
            csv_text(out, k->sampler.text);
            fprintf(out, ",%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.6f\n", k->runs,
                    c->found, c->warnings, c->sampled, c->accesses, c->seconds);
        }
    }
}
