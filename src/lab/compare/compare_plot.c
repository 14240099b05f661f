// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Plots recall over rate. Exact engines find the same races in the same sample, so their points coincide:
// points of one sampler closer than a mark's width are drawn once, and the legend names their engines.
#include "lab/compare/compare_write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/compare/plot.h"
#include "report/page.h"

void rb_figure_begin(FILE *out, const char *name, const char *note)
{
    fputs("<figure>\n<figcaption><b>", out);
    rb_html_text(out, name);
    fputs("</b>", out);
    if (note && *note) {
        fputs("<p>", out);
        rb_html_text(out, note);
        fputs("</p>", out);
    }
    fputs("</figcaption>\n", out);
}

void rb_svg_begin(FILE *out, const char *id, size_t number, double w, double h, const char *title,
                  const char *description)
{
    fprintf(out,
            "<svg class=\"plot\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-labelledby=\"%s%zu-t "
            "%s%zu-d\">\n<title id=\"%s%zu-t\">",
            w, h, id, number, id, number, id, number);
    rb_html_text(out, title);
    fprintf(out, "</title>\n<desc id=\"%s%zu-d\">", id, number);
    rb_html_text(out, description);
    fputs("</desc>\n", out);
}

void rb_figure_end(FILE *out)
{
    fputs("</svg>\n</figure>\n", out);
}

void rb_svg_line(FILE *out, const char *class, double x1, double y1, double x2, double y2)
{
    fprintf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class, x1, y1, x2,
            y2);
}

size_t rb_engine_series(const struct rb_engine_ops *engine)
{
    size_t i = 0;

    while (rb_lab_engines[i] && rb_lab_engines[i] != engine)
        i++;
    return i;
}

// ---- clusters ------------------------------------------------------------------------------------------

#define WIDTH  440.0
#define HEIGHT 420.0
#define LEFT   42.0
#define RIGHT  16.0
#define TOP    14.0
#define BOTTOM 44.0
#define ZERO   26.0 // width of the strip for a rate of 0, which a logarithmic axis cannot show
#define SAME   4.0  // pixels

struct cluster {
    double x, y;
    const struct rb_compare_row *row; // the last of its rows
    size_t sampler;                   // first row of its group
    uint32_t engines;                 // bit i: rb_lab_engines[i]
};

struct recall_plot {
    const struct rb_comparison *c;
    struct rb_scale x, y;
    bool zero;
    struct cluster *clusters;
    size_t count;
};

static double x_of(const struct recall_plot *p, double rate)
{
    return rate > 0 ? rb_scale_at(&p->x, rate) : LEFT + ZERO / 2;
}

static void add_point(struct recall_plot *p, const struct rb_compare_row *row, size_t sampler)
{
    const double x = x_of(p, row->of[RB_M_esr].mean), y = rb_scale_at(&p->y, row->of[RB_M_recall].mean);
    size_t i = 0;

    while (i < p->count && (p->clusters[i].sampler != sampler || fabs(p->clusters[i].x - x) > SAME ||
                            fabs(p->clusters[i].y - y) > SAME))
        i++;
    if (i == p->count)
        p->clusters[p->count++] = (struct cluster){.x = x, .y = y, .sampler = sampler};
    p->clusters[i].row = row;
    p->clusters[i].engines |= 1u << rb_engine_series(row->engine);
}

static void names_of(uint32_t engines, char *out, size_t room)
{
    size_t used = 0;

    out[0] = 0;
    for (size_t i = 0; rb_lab_engines[i] && used < room; i++)
        if (engines & 1u << i)
            used +=
                (size_t)snprintf(out + used, room - used, "%s%s", used ? ", " : "", rb_lab_engines[i]->name);
}

static void draw_axes(FILE *out, const struct recall_plot *p)
{
    double ticks[RB_TICKS];
    char text[RB_NUMBER];
    size_t n = rb_ticks_linear(0, 1, 5, ticks);

    for (size_t i = 0; i < n; i++) {
        const double y = rb_scale_at(&p->y, ticks[i]);
        rb_svg_line(out, ticks[i] > 0 ? "grid" : "axis", LEFT, y, WIDTH - RIGHT, y);
        fprintf(out, "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%.0f</text>\n", LEFT - 6,
                y + 4, 100 * ticks[i]);
    }
    n = rb_ticks_log(p->x.low, p->x.high, 7, ticks);
    for (size_t i = 0; i < n; i++) {
        const double x = rb_scale_at(&p->x, ticks[i]);
        rb_svg_line(out, "grid", x, TOP, x, HEIGHT - BOTTOM + 4);
        rb_write_number(text, RB_RATE, ticks[i], 1);
        if (strchr(text, '.')) // 0.100 and 1.00 are digits of a measurement; a tick is exact
            while (text[strlen(text) - 1] == '0' || text[strlen(text) - 1] == '.') {
                const bool point = text[strlen(text) - 1] == '.';
                text[strlen(text) - 1] = 0;
                if (point)
                    break;
            }
        fprintf(out, "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", x,
                HEIGHT - BOTTOM + 17, text);
    }
    if (p->zero)
        fprintf(out, "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">0</text>\n",
                LEFT + ZERO / 2, HEIGHT - BOTTOM + 17);
    fprintf(out,
            "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">accesses sampled, %% "
            "(logarithmic)</text>\n",
            (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8);
    fprintf(out,
            "<text class=\"tick\" transform=\"translate(10 %.1f) rotate(-90)\" "
            "text-anchor=\"middle\">recall, %%</text>\n",
            (TOP + HEIGHT - BOTTOM) / 2);
}

static double clamp_to(double v, double low, double high)
{
    return v < low ? low : v > high ? high : v;
}

// Returns the box between the ends of ± one standard deviation, in pixels; empty without a deviation.
static struct rb_box error_of(const struct recall_plot *p, const struct cluster *k)
{
    const struct rb_summary *rate = &k->row->of[RB_M_esr], *found = &k->row->of[RB_M_recall];
    struct rb_box b = {k->x, k->y, 0, 0};

    if (rate->sd > 0 && rate->mean > 0) {
        b.x = x_of(p, clamp_to(rate->mean - rate->sd, p->x.low, p->x.high));
        b.w = x_of(p, clamp_to(rate->mean + rate->sd, p->x.low, p->x.high)) - b.x;
    }
    if (found->sd > 0) {
        b.y = rb_scale_at(&p->y, clamp_to(found->mean + found->sd, 0, 1));
        b.h = rb_scale_at(&p->y, clamp_to(found->mean - found->sd, 0, 1)) - b.y;
    }
    return b;
}

static void draw_error(FILE *out, const struct recall_plot *p, const struct cluster *k)
{
    const struct rb_box b = error_of(p, k);

    if (b.w > 0)
        rb_svg_line(out, "error", b.x, k->y, b.x + b.w, k->y);
    if (b.h > 0)
        rb_svg_line(out, "error", k->x, b.y, k->x, b.y + b.h);
}

static void draw_mark(FILE *out, const struct cluster *k)
{
    static const struct rb_column rate = {.what = RB_M_esr, .style = RB_RATE},
                                  found = {.what = RB_M_recall, .style = RB_PERCENT};
    const struct rb_unit none = {"", 1};
    const struct rb_written r = rb_write_column(&rate, k->row, none),
                            f = rb_write_column(&found, k->row, none);
    char names[160];

    names_of(k->engines, names, sizeof(names));
    rb_mark_begin(out, rb_engine_series(k->row->engine), k->x, k->y);
    fputs("<title>", out);
    rb_html_text(out, k->row->sampler.text);
    fprintf(out, " (%s): recall %s%s %% at a rate of %s%s %%</title>", names, f.value, f.spread, r.value,
            r.spread);
    rb_mark_end(out);
}

// Labels each sampler once, at the point of its last engine. A line connects its other points with the
// label.
static void draw_labels(FILE *out, const struct recall_plot *p, struct rb_label *labels, struct rb_box *marks)
{
    const struct rb_box frame = {LEFT, TOP - 10, WIDTH - LEFT - RIGHT + 12, HEIGHT - TOP - BOTTOM + 15};
    size_t n = 0;

    for (size_t i = 0; i < p->count; i++) {
        const struct cluster *k = &p->clusters[i];
        const struct rb_box error = error_of(p, k);
        marks[3 * i] = (struct rb_box){k->x - 7, k->y - 7, 14, 14};
        marks[3 * i + 1] = (struct rb_box){error.x, k->y - 1, error.w, 2};
        marks[3 * i + 2] = (struct rb_box){k->x - 1, error.y, 2, error.h};
        if (i + 1 < p->count && k[1].sampler == k->sampler) {
            rb_svg_line(out, "lead", k->x, k->y, k[1].x, k[1].y);
            continue;
        }
        labels[n++] = (struct rb_label){.text = k->row->sampler.text, .x = k->x, .y = k->y};
    }
    rb_place_labels(labels, n, marks, 3 * p->count, frame);
    for (size_t i = 0; i < p->count; i++)
        draw_error(out, p, &p->clusters[i]);
    for (size_t i = 0; i < n; i++) {
        const struct rb_label *l = &labels[i];
        if (l->lead)
            rb_svg_line(out, "lead", l->x, l->y, clamp_to(l->x, l->box.x, l->box.x + l->box.w),
                        clamp_to(l->y, l->box.y + 2, l->box.y + l->box.h - 2));
    }
    for (size_t i = 0; i < p->count; i++)
        draw_mark(out, &p->clusters[i]);
    for (size_t i = 0; i < n; i++) {
        fprintf(out, "<text class=\"halo\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">",
                labels[i].box.x + labels[i].box.w / 2, labels[i].box.y + labels[i].box.h - 3);
        rb_html_text(out, labels[i].text);
        fputs("</text>\n", out);
    }
}

static void draw_legend(FILE *out, const struct recall_plot *p)
{
    uint32_t of[RB_SHAPES] = {0}; // by shape: the engines that share all its points
    char names[160];

    for (size_t i = 0; i < p->count; i++) {
        const struct cluster *k = &p->clusters[i];
        uint32_t *engines = &of[rb_engine_series(k->row->engine) % RB_SHAPES];
        *engines = *engines ? *engines & k->engines : k->engines;
    }
    fputs("<ul class=\"legend\">", out);
    for (size_t s = 0; s < RB_SHAPES; s++) {
        if (!of[s])
            continue;
        fputs("<li><svg viewBox=\"-7 -7 14 14\" aria-hidden=\"true\">", out);
        rb_mark_begin(out, s, 0, 0);
        rb_mark_end(out);
        names_of(of[s], names, sizeof(names));
        fprintf(out, "</svg>%s</li>", names);
    }
    fputs("</ul>\n", out);
}

static void draw_recall(FILE *out, struct recall_plot *p, size_t id)
{
    struct rb_label *labels = calloc(p->c->row_count, sizeof(*labels));
    struct rb_box *marks = calloc(3 * p->c->row_count, sizeof(*marks)); // the marks and their lines

    if (labels && marks) {
        draw_legend(out, p);
        rb_svg_begin(
            out, "recall", id, WIDTH, HEIGHT, "Recall against effective sampling rate",
            "A point a sampler: to the right the share of accesses it took, on a logarithmic axis; "
            "upwards the share of the baseline's static races it found. The numbers are in the table.");
        draw_axes(out, p);
        draw_labels(out, p, labels, marks);
        fputs("</svg>\n", out);
    }
    free(labels);
    free(marks);
}

void rb_plot_recall(FILE *out, const struct rb_comparison *c, size_t id)
{
    struct recall_plot p = {
        .c = c,
        .x = {.low = 0.1, .high = 1, .from = LEFT + 10, .to = WIDTH - RIGHT - 4, .log = true},
        .y = {.low = 0, .high = 1, .from = HEIGHT - BOTTOM, .to = TOP}};
    double ticks[RB_TICKS];

    rb_figure_begin(out, "Recall against effective sampling rate",
                    c->runs > 1
                        ? "Static races of fasttrack on all accesses that were found too. Points that "
                          "coincide are drawn once; lines: ± one standard deviation."
                        : "Static races of fasttrack on all accesses that were found too. Points that "
                          "coincide are drawn once.");
    if (isnan(c->rows[c->baseline].of[RB_M_recall].mean)) {
        fputs("<p>The baseline found no race in this trace, so there is nothing to recall.</p>\n</figure>\n",
              out);
        return;
    }
    for (size_t i = 0; i < c->row_count; i++) {
        const double rate = c->rows[i].of[RB_M_esr].mean;
        if (rate > 0 && rate < p.x.low)
            p.x.low = rate;
        p.zero |= rate == 0;
    }
    p.x.from += p.zero ? ZERO : 0;
    rb_ticks_log(p.x.low, p.x.high, 7, ticks);
    p.x.low = ticks[0];
    p.clusters = calloc(c->row_count, sizeof(*p.clusters));
    if (p.clusters) {
        for (size_t first = 0, end; first < c->row_count; first = end) {
            end = rb_compare_group_end(c, first);
            for (size_t i = first; i < end; i++)
                add_point(&p, &c->rows[i], first);
        }
        draw_recall(out, &p, id);
    }
    free(p.clusters);
    fputs("</figure>\n", out);
}
