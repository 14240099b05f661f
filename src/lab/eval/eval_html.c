// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the HTML page: the setup, the plots, recall by program, all numbers, and the rules.
#include <inttypes.h>
#include <math.h>

#include "lab/compare/compare_write.h"
#include "lab/eval/eval_private.h"
#include "report/page.h"

static void table_begin(FILE *out, const char *caption)
{
    fprintf(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"%s\">\n<table>\n<caption><span>%s"
        "</span></caption>\n",
        caption, caption);
}

static void table_end(FILE *out)
{
    fputs("</table>\n</div>\n", out);
}

static const char *program_name(const struct rb_eval *v, size_t program)
{
    return program == RB_EVAL_ALL ? "total" : v->labels->programs[program];
}

// Writes the table of recall: one row a program, one column a detector.
static void recall_table(FILE *out, const struct rb_eval *v)
{
    table_begin(out, "Recall by program, %");
    fputs("<thead>\n<tr><th scope=\"col\" class=\"key\">program</th><th scope=\"col\">traces</th>", out);
    for (size_t d = 0; d < v->detector_count; d++) {
        fputs("<th scope=\"col\">", out);
        rb_html_text(out, v->detectors[d].name);
        fputs("</th>", out);
    }
    fputs("<th scope=\"col\" class=\"first\">missed by all</th></tr>\n</thead>\n<tbody>\n", out);
    for (size_t row = 0; row <= v->labels->program_count; row++) {
        const size_t program = row < v->labels->program_count ? row : RB_EVAL_ALL;
        uint64_t traces = 0, lost = 0;
        for (size_t i = 0; i < v->labels->count; i++)
            if (program == RB_EVAL_ALL || v->labels->traces[i].program == program) {
                traces++;
                lost += rb_eval_missed_by_all(v, i);
            }
        fputs(program == RB_EVAL_ALL ? "<tr class=\"base\"><th scope=\"row\" class=\"key\">"
                                     : "<tr><th scope=\"row\" class=\"key\">",
              out);
        rb_html_text(out, program_name(v, program));
        fprintf(out, "</th><td>%" PRIu64 "</td>", traces);
        for (size_t d = 0; d < v->detector_count; d++) {
            char text[RB_NUMBER];
            rb_write_number(text, RB_PERCENT, rb_eval_score(v, d, program).recall, 1);
            fputs("<td>", out);
            rb_html_text(out, text);
            fputs("</td>", out);
        }
        fprintf(out, "<td class=\"first\">%" PRIu64 "</td></tr>\n", lost);
    }
    fputs("</tbody>\n", out);
    table_end(out);
}

static void score_row(FILE *out, const struct rb_eval *v, size_t detector, size_t program)
{
    const struct rb_eval_detector *d = &v->detectors[detector];
    const struct rb_eval_score s = rb_eval_score(v, detector, program);
    char recall[RB_NUMBER], rate[RB_NUMBER];

    rb_write_number(recall, RB_PERCENT, s.recall, 1);
    rb_write_number(rate, RB_RATE, s.rate, 1);
    fputs("<tr><th scope=\"row\" class=\"key\">", out);
    rb_html_text(out, program_name(v, program));
    fputs("</th><td>", out);
    rb_html_text(out, d->name);
    fprintf(out, "</td><td>%.*f</td><td>%.*f</td><td>", !d->exact, s.found, !d->exact, s.missed);
    rb_html_text(out, recall);
    if (s.found_sd > 0)
        fprintf(out, "<small>±%.1f</small>", 100 * s.found_sd / (double)s.traces);
    fputs("</td><td>", out);
    rb_html_text(out, rate);
    fprintf(out, "</td><td>%.4f</td><td>%.1f</td>", s.seconds, s.warnings);
    if (d->exact)
        fprintf(out, "<td class=\"first\">%" PRIu64 "</td><td>%" PRIu64 "</td></tr>\n",
                s.false_alarms[RB_PROOF_TRACE], s.false_alarms[RB_PROOF_WINDOW]);
    else
        fputs("<td class=\"first\">-</td><td>-</td></tr>\n", out);
}

static void all_numbers(FILE *out, const struct rb_eval *v)
{
    table_begin(out, "All numbers; of samplers, means over the runs");
    fputs("<thead>\n<tr><th scope=\"col\" class=\"key\">program</th><th scope=\"col\">detector</th><th "
          "scope=\"col\">found</th><th scope=\"col\">missed</th><th scope=\"col\">recall, %</th><th "
          "scope=\"col\">rate, "
          "%</th><th scope=\"col\">analysis, s</th><th scope=\"col\">warnings</th><th scope=\"col\" "
          "class=\"first\">false alarms, trace</th><th scope=\"col\">window</th></tr>\n</thead>\n",
          out);
    for (size_t row = 0; row <= v->labels->program_count; row++) {
        fputs("<tbody>\n", out);
        for (size_t d = 0; d < v->detector_count; d++)
            score_row(out, v, d, row < v->labels->program_count ? row : RB_EVAL_ALL);
        fputs("</tbody>\n", out);
    }
    table_end(out);
}

static void write_rules(FILE *out, const struct rb_eval *v)
{
    table_begin(out, "A violation is a mistake in one of the two engines");
    fputs("<thead>\n<tr><th scope=\"col\" class=\"key\">claim</th><th scope=\"col\">traces it speaks "
          "of</th><th "
          "scope=\"col\">violations</th><th scope=\"col\">first</th></tr>\n</thead>\n<tbody>\n",
          out);
    for (size_t i = 0; i < RB_EVAL_RULES; i++) {
        const struct rb_eval_rule *r = &v->rules[i];
        if (!r->checked)
            continue;
        fputs("<tr><td>", out);
        rb_html_text(out, r->claim);
        fprintf(out, "</td><td>%" PRIu64 "</td><td>%" PRIu64 "</td><td>", r->traces, r->violations);
        if (r->violations) {
            rb_html_text(out, v->labels->traces[r->example_trace].file);
            fprintf(out, ", event %" PRIu64, r->example_event);
        }
        fputs("</td></tr>\n", out);
    }
    fputs("</tbody>\n", out);
    table_end(out);
}

static void write_glossary(FILE *out)
{
    fputs("<details><summary>Terms</summary>\n<dl>\n"
          "<dt>found</dt><dd>the detector warned at the later access of the labelled pair</dd>\n"
          "<dt>engine</dt><dd>sees all accesses, once: it cannot find a missed race in this order of "
          "events</dd>\n"
          "<dt>sampler</dt><dd>chooses the accesses that engine so sees; mean over the runs</dd>\n"
          "<dt>distance</dt><dd>events between the two accesses of the pair</dd>\n"
          "<dt>rate</dt><dd>accesses sampled / accesses of the traces</dd>\n"
          "<dt>false alarms</dt><dd>warnings about a pair that was proven to be no race: in any order of "
          "the whole trace, or in any order of a window of it</dd>\n"
          "</dl></details>\n",
          out);
}

void rb_eval_html(FILE *out, const struct rb_eval *v)
{
    rb_html_begin(out, "Railbird: recall on labelled traces");
    fputs("<header>\n<h1>Recall on labelled traces</h1>\n<p>", out);
    rb_html_text(out, v->labels->dir);
    fprintf(out,
            ": %zu traces of %zu programs, %" PRIu64 " events. %zu detectors; samplers %" PRIu32
            " times, from seed %" PRIu64 " on.</p>\n",
            v->labels->count, v->labels->program_count, v->events, v->detector_count, v->runs, v->seed);
    write_glossary(out);
    fputs("</header>\n<main>\n<section>\n<h2>Recall</h2>\n<div class=\"plots\">\n", out);
    rb_eval_plot_distance(out, v, true);
    rb_eval_plot_distance(out, v, false);
    rb_eval_plot_rate(out, v);
    fputs("</div>\n", out);
    recall_table(out, v);
    fputs("</section>\n<section>\n<h2>All numbers</h2>\n", out);
    all_numbers(out, v);
    fputs("</section>\n<section>\n<h2>What must hold</h2>\n", out);
    write_rules(out, v);
    fputs("</section>\n</main>\n", out);
    rb_html_end(out);
}
