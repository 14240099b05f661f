// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the HTML page: the setup, time over length for several traces, and for each trace its plots and
// its table.
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "lab/compare/compare.h"
#include "lab/compare/compare_write.h"
#include "report/page.h"

static void write_headings(FILE *out, struct rb_unit unit)
{
    fputs("<thead>\n<tr><td></td><td></td>", out);
    for (size_t i = 0, end; i < rb_column_count; i = end) {
        for (end = i + 1; end < rb_column_count && !strcmp(rb_columns[end].group, rb_columns[i].group); end++)
            ;
        fprintf(out, "<th scope=\"colgroup\" colspan=\"%zu\" class=\"first\">%s</th>", end - i,
                rb_columns[i].group);
    }
    fputs("</tr>\n<tr><th scope=\"col\" class=\"key\">sampler</th><th scope=\"col\" "
          "class=\"engine\">engine</th>",
          out);
    for (size_t i = 0; i < rb_column_count; i++) {
        const struct rb_column *k = &rb_columns[i];
        const bool first = i == 0 || strcmp(k->group, k[-1].group);
        fprintf(out, "<th scope=\"col\"%s>%s%s%s</th>", first ? " class=\"first\"" : "", k->name,
                k->style == RB_TIME ? ", " : "", k->style == RB_TIME ? unit.name : "");
    }
    fputs("</tr>\n</thead>\n", out);
}

static void table_row(FILE *out, const struct rb_compare_row *row, struct rb_unit unit)
{
    fprintf(out, "<th scope=\"row\" class=\"engine\">%s</th>", row->engine->name);
    for (size_t i = 0; i < rb_column_count; i++) {
        const struct rb_column *k = &rb_columns[i];
        const struct rb_written w = rb_write_column(k, row, unit);
        const bool first = i == 0 || strcmp(k->group, k[-1].group);
        fputs(first ? "<td class=\"first\">" : "<td>", out);
        rb_html_text(out, w.value);
        if (k->style == RB_TIMES && !isnan(row->speedup))
            fputs("×", out);
        if (w.spread[0])
            fprintf(out, "<small>%s</small>", w.spread);
        fputs("</td>", out);
    }
    fputs("</tr>\n", out);
}

static void write_table(FILE *out, const struct rb_comparison *c)
{
    const struct rb_unit unit = rb_compare_unit(c);

    fputs("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"All numbers of ", out);
    rb_html_text(out, c->trace);
    fputs("\">\n<table>\n<caption><span>", out);
    if (c->runs > 1)
        fprintf(out,
                "Mean ± sample standard deviation of %u runs; times: median. No ± where it would be below "
                "the last digit. ",
                c->runs);
    fputs("Shaded: the baseline.</span></caption>\n", out);
    write_headings(out, unit);
    for (size_t first = 0, end; first < c->row_count; first = end) {
        end = rb_compare_group_end(c, first);
        fputs("<tbody>\n", out);
        for (size_t i = first; i < end; i++) {
            fputs(i == c->baseline ? "<tr class=\"base\">" : "<tr>", out);
            if (i == first) {
                fprintf(out, "<th scope=\"rowgroup\" class=\"key\" rowspan=\"%zu\">", end - first);
                rb_html_text(out, c->rows[i].sampler.text);
                fputs("</th>", out);
            }
            table_row(out, &c->rows[i], unit);
        }
        fputs("</tbody>\n", out);
    }
    fputs("</table>\n</div>\n", out);
}

// Writes a count with its noun, as in "1 234 567 events".
static void number_of(FILE *out, uint64_t n, const char *one, const char *many)
{
    char digits[24];
    const int length = snprintf(digits, sizeof(digits), "%" PRIu64, n);

    for (int i = 0; i < length; i++)
        fprintf(out, "%s%c", i && (length - i) % 3 == 0 ? "&#8239;" : "", digits[i]);
    fprintf(out, " %s", n == 1 ? one : many);
}

static void write_facts(FILE *out, const struct rb_comparison *c)
{
    const struct rb_summary *of = c->rows[c->baseline].of;
    size_t by_location = 0;

    fputs("<p>", out);
    number_of(out, c->events, "event", "events");
    fputs(", of which ", out);
    number_of(out, c->accesses, "access", "accesses");
    fputs("; ", out);
    number_of(out, c->threads, "thread", "threads");
    fputs(", ", out);
    number_of(out, c->locks, "lock", "locks");
    fputs(", ", out);
    number_of(out, c->variables, "variable", "variables");
    fputs(". fasttrack on all accesses found ", out);
    number_of(out, (uint64_t)of[RB_M_warnings].mean, "warning", "warnings");
    fputs(" on ", out);
    number_of(out, (uint64_t)of[RB_M_racy_variables].mean, "variable", "variables");
    fputs(", ", out);
    number_of(out, (uint64_t)of[RB_M_static_races].mean, "static race", "static races");
    fprintf(out, " (%" PRIu64 " rare, %" PRIu64 " frequent).</p>\n", c->rare, c->frequent);
    for (size_t i = 0; i < c->row_count; i++)
        by_location += c->rows[i].by_location;
    if (by_location)
        fputs("<p>The trace has no function events: samplers that go by function took code locations as "
              "their regions.</p>\n",
              out);
    if (c->lenient_releases || c->lenient_acquires)
        fprintf(out,
                "<p>%" PRIu64
                " releases without a matching acquire were taken as plain releases, and %" PRIu64
                " acquires of locks held elsewhere were accepted.</p>\n",
                c->lenient_releases, c->lenient_acquires);
}

static void write_contents(FILE *out, const struct rb_comparison *c, size_t count)
{
    fputs("<nav aria-label=\"Traces\"><ul>\n", out);
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "<li><a href=\"#trace%zu\">", i + 1);
        rb_html_text(out, c[i].trace);
        fputs("</a></li>\n", out);
    }
    fputs("</ul></nav>\n", out);
}

static void write_glossary(FILE *out)
{
    fputs(
        "<details><summary>Terms</summary>\n<dl>\n"
        "<dt>warning</dt><dd>an access that races with an earlier sampled one</dd>\n"
        "<dt>static race</dt><dd>an unordered pair of code locations that raced</dd>\n"
        "<dt>recall</dt><dd>share of the baseline's static races (or variables) that the run found as well; "
        "undefined (-) when there are none</dd>\n"
        "<dt>rare</dt><dd>a static race that occurs fewer than 3 times in a million accesses; else it is "
        "frequent</dd>\n"
        "<dt>effective rate</dt><dd>accesses sampled / accesses of the whole trace; nominal is the rate "
        "that the sampler's name promises</dd>\n"
        "<dt>acquires skipped</dt><dd>acquires that neither read nor wrote a clock</dd>\n"
        "<dt>releases processed</dt><dd>releases that copied or joined a clock, or handed over a new "
        "reference; engine so pays with deep copies instead</dd>\n"
        "<dt>entries saved</dt><dd>1 - entries read / entries of those clocks, over the acquires that were "
        "not skipped</dd>\n"
        "<dt>speed-up</dt><dd>processor time of fasttrack on all accesses / processor time of this row</dd>\n"
        "</dl></details>\n",
        out);
}

void rb_compare_html(FILE *out, const struct rb_comparison *c, size_t count,
                     const struct rb_compare_plan *plan)
{
    rb_html_begin(out, "Railbird: engines and samplers compared");
    fputs("<header>\n<h1>Engines and samplers compared</h1>\n<p>", out);
    number_of(out, count, "trace", "traces");
    fprintf(out, ", %zu engine%s with %zu sampler%s", plan->engine_count, plan->engine_count == 1 ? "" : "s",
            plan->sampler_count, plan->sampler_count == 1 ? "" : "s");
    if (plan->runs > 1)
        fprintf(out, "; %u runs of each, seeds %" PRIu64 " to %" PRIu64, plan->runs, plan->seed,
                plan->seed + plan->runs - 1);
    else
        fprintf(out, "; one run of each, seed %" PRIu64, plan->seed);
    fputs(". The baseline is fasttrack on all accesses.</p>\n", out);
    write_glossary(out);
    if (count > 1)
        write_contents(out, c, count);
    fputs("</header>\n<main>\n", out);
    if (count > 1) {
        fputs("<section>\n<h2>Processor time against length</h2>\n"
              "<p class=\"muted\">A panel a sampler, a line an engine, a mark a trace; both axes "
              "logarithmic, the "
              "same in all panels.</p>\n",
              out);
        rb_plot_lengths(out, c, count);
        fputs("</section>\n", out);
    }
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "<section>\n<h2 id=\"trace%zu\">", i + 1);
        rb_html_text(out, c[i].trace);
        fputs("</h2>\n", out);
        write_facts(out, &c[i]);
        fputs("<div class=\"plots\">\n", out);
        rb_plot_recall(out, &c[i], i);
        rb_plot_bars(out, &c[i], RB_BARS_TIME, i);
        rb_plot_bars(out, &c[i], RB_BARS_SKIPPED, i);
        rb_plot_bars(out, &c[i], RB_BARS_SAVED, i);
        fputs("</div>\n", out);
        write_table(out, &c[i]);
        fputs("</section>\n", out);
    }
    fputs("</main>\n", out);
    rb_html_end(out);
}
