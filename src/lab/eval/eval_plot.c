// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The plots of the evaluation's page: recall over distance, and recall over rate.
#include "lab/eval/eval_private.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/compare/compare_write.h"
#include "lab/compare/plot.h"
#include "report/page.h"

#define WIDTH  520.0
#define HEIGHT 360.0
#define LEFT   42.0
#define RIGHT  16.0
#define TOP    14.0
#define BOTTOM 62.0
#define ZERO   26.0 // width of the strip for a rate of 0, which a logarithmic axis cannot show

static const struct rb_scale recall_axis = {.low = 0, .high = 1, .from = HEIGHT - BOTTOM, .to = TOP};

static void draw_recall_axis(FILE *out)
{
    double ticks[RB_TICKS];
    const size_t n = rb_ticks_linear(0, 1, 5, ticks);

    for (size_t i = 0; i < n; i++) {
        const double y = rb_scale_at(&recall_axis, ticks[i]);
        rb_svg_line(out, ticks[i] > 0 ? "grid" : "axis", LEFT, y, WIDTH - RIGHT, y);
        fprintf(out, "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%.0f</text>\n", LEFT - 6,
                y + 4, 100 * ticks[i]);
    }
    fprintf(
        out,
        "<text class=\"tick\" transform=\"translate(10 %.1f) rotate(-90)\" text-anchor=\"middle\">recall, %%"
        "</text>\n",
        (TOP + HEIGHT - BOTTOM) / 2);
}

static void tick_text(FILE *out, double x, double y, const char *text)
{
    fprintf(out, "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", x, y, text);
}

// ---- distance ------------------------------------------------------------------------------------------

static bool is_shown(const struct rb_eval *v, size_t detector, bool engines)
{
    return v->detectors[detector].exact == engines;
}

// Returns the detector's number among those shown, which selects its shape and colour.
static size_t series_of(const struct rb_eval *v, size_t detector, bool engines)
{
    size_t series = 0;

    for (size_t d = 0; d < detector; d++)
        series += is_shown(v, d, engines);
    return series;
}

static void draw_legend(FILE *out, const struct rb_eval *v, bool engines)
{
    fputs("<ul class=\"legend\">", out);
    for (size_t d = 0; d < v->detector_count; d++) {
        if (!is_shown(v, d, engines))
            continue;
        fputs("<li><svg viewBox=\"-7 -7 14 14\" aria-hidden=\"true\">", out);
        rb_mark_begin(out, series_of(v, d, engines), 0, 0);
        rb_mark_end(out);
        fputs("</svg>", out);
        rb_html_text(out, v->detectors[d].name);
        fputs("</li>", out);
    }
    fputs("</ul>\n", out);
}

static void draw_distance_axis(FILE *out, const struct rb_scale *x, const struct rb_eval_bin *bins,
                               size_t count)
{
    char text[64];

    for (size_t b = 0; b < count; b++) {
        const double at = rb_scale_at(x, (double)b);
        if (bins[b].low == bins[b].high || count > 9)
            snprintf(text, sizeof(text), "%" PRIu64, bins[b].low);
        else
            snprintf(text, sizeof(text), "%" PRIu64 "–%" PRIu64, bins[b].low, bins[b].high);
        rb_svg_line(out, "grid", at, TOP, at, HEIGHT - BOTTOM + 4);
        tick_text(out, at, HEIGHT - BOTTOM + 17, text);
        snprintf(text, sizeof(text), "%" PRIu64, bins[b].traces);
        tick_text(out, at, HEIGHT - BOTTOM + 32, text);
    }
    tick_text(out, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8,
              "events between the two accesses, from (logarithmic); below: traces");
}

static void draw_line(FILE *out, const struct rb_scale *x, const struct rb_eval_bin *bins, size_t count,
                      size_t series)
{
    bool first = true;

    fprintf(out, "<path class=\"c%zu line\" d=\"", series % RB_SHAPES);
    for (size_t b = 0; b < count; b++)
        if (bins[b].traces) {
            fprintf(out, "%c%.1f %.1f", first ? 'M' : 'L', rb_scale_at(x, (double)b),
                    rb_scale_at(&recall_axis, bins[b].found / (double)bins[b].traces));
            first = false;
        }
    fputs("\"/>\n", out);
}

static void draw_marks(FILE *out, const struct rb_eval *v, size_t detector, const struct rb_scale *x,
                       const struct rb_eval_bin *bins, size_t count, size_t series)
{
    for (size_t b = 0; b < count; b++) {
        if (!bins[b].traces)
            continue;
        const double share = bins[b].found / (double)bins[b].traces;
        rb_mark_begin(out, series, rb_scale_at(x, (double)b), rb_scale_at(&recall_axis, share));
        fputs("<title>", out);
        rb_html_text(out, v->detectors[detector].name);
        fprintf(out, ": %.1f %% of %" PRIu64 " traces with a distance of %" PRIu64 " to %" PRIu64 "</title>",
                100 * share, bins[b].traces, bins[b].low, bins[b].high);
        rb_mark_end(out);
    }
}

void rb_eval_plot_distance(FILE *out, const struct rb_eval *v, bool engines)
{
    struct rb_eval_bin bins[RB_EVAL_BINS];
    const size_t count = rb_eval_bins(v, 0, bins);
    const struct rb_scale x = {.low = 0,
                               .high = count > 1 ? (double)(count - 1) : 1,
                               .from = LEFT + 16,
                               .to = WIDTH - RIGHT - 16};

    if (!series_of(v, v->detector_count, engines))
        return;
    rb_figure_begin(out,
                    engines ? "Recall of engines against distance" : "Recall of samplers against distance",
                    engines ? "All accesses seen. Distances in bins that double."
                            : "With engine so, mean over the runs. Distances in bins that double.");
    draw_legend(out, v, engines);
    rb_svg_begin(
        out, "distance", engines, WIDTH, HEIGHT, "Recall against distance",
        "A line a detector: to the right the number of events between the two accesses, in bins that double; "
        "upwards the share of the races that were found. The numbers are in the JSON.");
    draw_recall_axis(out);
    draw_distance_axis(out, &x, bins, count);
    for (int marks = 0; marks < 2; marks++)
        for (size_t d = 0; d < v->detector_count; d++) {
            if (!is_shown(v, d, engines))
                continue;
            rb_eval_bins(v, d, bins);
            if (marks)
                draw_marks(out, v, d, &x, bins, count, series_of(v, d, engines));
            else
                draw_line(out, &x, bins, count, series_of(v, d, engines));
        }
    rb_figure_end(out);
}

// ---- rate ----------------------------------------------------------------------------------------------

static void draw_rate_axis(FILE *out, const struct rb_scale *x, bool zero)
{
    double ticks[RB_TICKS];
    char text[RB_NUMBER];
    const size_t n = rb_ticks_log(x->low, x->high, 7, ticks);

    for (size_t i = 0; i < n; i++) {
        const double at = rb_scale_at(x, ticks[i]);
        snprintf(text, sizeof(text), "%.6g", 100 * ticks[i]);
        rb_svg_line(out, "grid", at, TOP, at, HEIGHT - BOTTOM + 4);
        tick_text(out, at, HEIGHT - BOTTOM + 17, text);
    }
    if (zero)
        tick_text(out, LEFT + ZERO / 2, HEIGHT - BOTTOM + 17, "0");
    tick_text(out, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, "accesses sampled, % (logarithmic)");
}

static void draw_rates(FILE *out, const struct rb_eval *v, const struct rb_scale *x, struct rb_label *labels,
                       struct rb_box *taken)
{
    const struct rb_box frame = {LEFT, TOP - 10, WIDTH - LEFT - RIGHT + 12, HEIGHT - TOP - BOTTOM + 15};
    size_t n = 0;

    for (size_t d = 0; d < v->detector_count; d++) {
        const struct rb_eval_score s = rb_eval_score(v, d, RB_EVAL_ALL);
        const double at = s.rate > 0 ? rb_scale_at(x, s.rate) : LEFT + ZERO / 2,
                     y = rb_scale_at(&recall_axis, s.recall);
        const double spread = s.found_sd > 0 ? s.found_sd / (double)s.traces : 0;
        if (spread > 0)
            rb_svg_line(out, "error", at, rb_scale_at(&recall_axis, fmin(1, s.recall + spread)), at,
                        rb_scale_at(&recall_axis, fmax(0, s.recall - spread)));
        rb_mark_begin(out, d, at, y);
        fputs("<title>", out);
        rb_html_text(out, v->detectors[d].name);
        fprintf(out, ": recall %.1f %% at a rate of %.3g %%</title>", 100 * s.recall, 100 * s.rate);
        rb_mark_end(out);
        labels[n] = (struct rb_label){.text = v->detectors[d].name, .x = at, .y = y};
        taken[n++] = (struct rb_box){at - 7, y - 7, 14, 14};
    }
    rb_place_labels(labels, n, taken, n, frame);
    for (size_t i = 0; i < n; i++) {
        const struct rb_box b = labels[i].box;
        if (labels[i].lead)
            rb_svg_line(out, "lead", labels[i].x, labels[i].y, fmax(b.x, fmin(labels[i].x, b.x + b.w)),
                        fmax(b.y + 2, fmin(labels[i].y, b.y + b.h - 2)));
        fprintf(out, "<text class=\"halo\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", b.x + b.w / 2,
                b.y + b.h - 3);
        rb_html_text(out, labels[i].text);
        fputs("</text>\n", out);
    }
}

void rb_eval_plot_rate(FILE *out, const struct rb_eval *v)
{
    struct rb_scale x = {.low = 0.1, .high = 1, .from = LEFT + 10, .to = WIDTH - RIGHT - 24, .log = true};
    struct rb_label *labels = calloc(v->detector_count + 1, sizeof(*labels));
    struct rb_box *taken = calloc(v->detector_count + 1, sizeof(*taken));
    double ticks[RB_TICKS];
    bool zero = false;

    for (size_t d = 0; d < v->detector_count; d++) {
        const double rate = rb_eval_score(v, d, RB_EVAL_ALL).rate;
        if (rate > 0 && rate < x.low)
            x.low = rate;
        zero |= !(rate > 0);
    }
    x.from += zero ? ZERO : 0;
    rb_ticks_log(x.low, x.high, 7, ticks);
    x.low = ticks[0];
    rb_figure_begin(out, "Recall against effective sampling rate",
                    v->runs > 1 ? "Samplers with engine so; lines: ± one standard deviation over the runs."
                                : "Samplers with engine so.");
    rb_svg_begin(out, "rate", 0, WIDTH, HEIGHT, "Recall against effective sampling rate",
                 "A mark a detector: to the right the share of accesses it took, on a logarithmic axis; "
                 "upwards the share "
                 "of the races that were found. The numbers are in the table.");
    draw_recall_axis(out);
    draw_rate_axis(out, &x, zero);
    if (labels && taken)
        draw_rates(out, v, &x, labels, taken);
    rb_figure_end(out);
    free(labels);
    free(taken);
}
