// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bar charts of cost, and processor time over trace length.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lab/compare/compare_write.h"
#include "lab/compare/plot.h"
#include "report/page.h"

// ---- bars ----------------------------------------------------------------------------------------------

#define WIDTH      440.0
#define LEFT       62.0 // engines' names
#define TOP        4.0
#define BOTTOM     40.0
#define BAR        11.0
#define BAR_STEP   14.0
#define GROUP_NAME 18.0
#define GROUP_GAP  9.0

static const struct bars {
    const char *id, *title, *note, *description, *axis;
    int metric;
    enum rb_style style;
    double right; // space for the numbers at the ends of the bars
} kinds[] = {
    [RB_BARS_TIME] = {"time", "Processor time",
                      "Median, and speed-up over fasttrack on all accesses (dashed).",
                      "A bar an engine, in groups by sampler: processor time of one analysis.",
                      "processor time, ", RB_M_cpu_seconds, RB_TIME, 92},
    [RB_BARS_SKIPPED] = {"skipped", "Acquires skipped", "Share of acquires that touched no clock.",
                         "A bar an engine, in groups by sampler: share of acquires skipped.",
                         "acquires skipped, %", RB_M_skipped_share, RB_PERCENT, 44},
    [RB_BARS_SAVED] = {"saved", "Clock entries saved", "Of the clocks of acquires that were not skipped.",
                       "A bar an engine, in groups by sampler: share of clock entries not looked at.",
                       "entries saved, %", RB_M_saved_share, RB_PERCENT, 44},
};

struct bar_plot {
    const struct bars *k;
    const struct rb_comparison *c;
    struct rb_unit unit;
    struct rb_scale x;
    double height;
    bool *shown; // one flag a row
};

static double value_of(const struct bar_plot *p, const struct rb_compare_row *row)
{
    const struct rb_summary *s = &row->of[p->k->metric];

    return p->k->style == RB_TIME ? s->median * p->unit.per_second : s->mean;
}

// Marks the rows to draw. An engine with all bars near zero is named in the note instead.
static void choose_engines(struct bar_plot *p, char *note, size_t room)
{
    const char *lines = p->c->runs < 2           ? ""
                        : p->k->style == RB_TIME ? " Lines: fastest to slowest run."
                                                 : " Lines: ± one standard deviation.";
    size_t used = (size_t)snprintf(note, room, "%s%s", p->k->note, lines), dropped = 0;
    uint32_t live = 0, dead = 0;

    for (size_t i = 0; i < p->c->row_count; i++) {
        const uint32_t bit = 1u << rb_engine_series(p->c->rows[i].engine);
        if (p->k->style == RB_TIME || fabs(value_of(p, &p->c->rows[i])) >= 0.0005)
            live |= bit;
        else
            dead |= bit;
    }
    dead &= ~live;
    for (size_t i = 0; live && rb_lab_engines[i]; i++)
        if (dead & 1u << i)
            used += (size_t)snprintf(note + used, used < room ? room - used : 0, "%s%s",
                                     dropped++ ? ", " : " Below 0.1 % everywhere: ", rb_lab_engines[i]->name);
    if (dropped)
        snprintf(note + used, used < room ? room - used : 0, ".");
    for (size_t i = 0; i < p->c->row_count; i++)
        p->shown[i] = !live || !(dead & 1u << rb_engine_series(p->c->rows[i].engine));
}

static size_t shown_in(const struct bar_plot *p, size_t first, size_t end)
{
    size_t n = 0;

    for (size_t i = first; i < end; i++)
        n += p->shown[i];
    return n;
}

static void bars_axis(FILE *out, struct bar_plot *p)
{
    double ticks[RB_TICKS], most = 1;
    const double foot = p->height - BOTTOM;

    if (p->k->style == RB_TIME) {
        most = 0;
        for (size_t i = 0; i < p->c->row_count; i++)
            most = fmax(most, value_of(p, &p->c->rows[i]));
    }
    const size_t n = rb_ticks_linear(0, most > 0 ? most : 1, 5, ticks);
    p->x = (struct rb_scale){.low = 0, .high = ticks[n - 1], .from = LEFT, .to = WIDTH - p->k->right};
    if (p->k->style == RB_TIME) // the grid ends at the longest bar
        p->x.high = most > 0 ? most : 1;
    for (size_t i = 0; i < n && ticks[i] <= p->x.high; i++) {
        const double x = rb_scale_at(&p->x, ticks[i]);
        rb_svg_line(out, i ? "grid" : "axis", x, TOP, x, foot);
        fprintf(out, "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.4g</text>\n", x,
                foot + 15, p->k->style == RB_TIME ? ticks[i] : 100 * ticks[i]);
    }
    fprintf(out, "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s%s</text>\n",
            (p->x.from + p->x.to) / 2, p->height - 7, p->k->axis, p->k->style == RB_TIME ? p->unit.name : "");
}

static void draw_bar(FILE *out, const struct bar_plot *p, const struct rb_compare_row *row, double y)
{
    const struct rb_column column = {.what = p->k->metric, .style = p->k->style};
    const struct rb_summary *s = &row->of[p->k->metric];
    const struct rb_written w = rb_write_column(&column, row, p->unit);
    const double value = value_of(p, row), x = value > 0 ? rb_scale_at(&p->x, value) : LEFT;
    const bool time = p->k->style == RB_TIME;
    double low = time ? s->low * p->unit.per_second : s->mean - s->sd;
    double high = time ? s->high * p->unit.per_second : s->mean + s->sd;
    char speedup[RB_NUMBER];

    fprintf(out, "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", LEFT - 6,
            y + BAR - 2, row->engine->name);
    fprintf(out, "<rect class=\"bar c%zu\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>",
            rb_engine_series(row->engine) % RB_SHAPES, LEFT, y, x - LEFT, BAR);
    rb_html_text(out, row->sampler.text);
    fprintf(out, ", %s: %s%s %s</title></rect>\n", row->engine->name, w.value, w.spread,
            time ? p->unit.name : "%");
    if (high > 0 && high - low > p->x.high / 400) { // a shorter line would be thinner than its stroke
        low = fmax(low, 0);
        high = fmin(high, p->x.high);
        rb_svg_line(out, "error", rb_scale_at(&p->x, low), y + BAR / 2, rb_scale_at(&p->x, high),
                    y + BAR / 2);
    }
    high = isnan(high) || high - value < p->x.high / 400 ? x : rb_scale_at(&p->x, high);
    fprintf(out, "<text class=\"tick halo\" x=\"%.1f\" y=\"%.1f\">%s", high + 5, y + BAR - 2,
            isnan(value) ? "undefined" : w.value);
    if (time && !isnan(row->speedup) && row != &p->c->rows[p->c->baseline]) {
        rb_write_number(speedup, RB_TIMES, row->speedup, 1);
        fprintf(out, " (%s×)", speedup);
    }
    fputs("</text>\n", out);
}

static void draw_bars(FILE *out, struct bar_plot *p)
{
    double y = TOP;

    bars_axis(out, p);
    if (p->k->style == RB_TIME) {
        const double x = rb_scale_at(&p->x, value_of(p, &p->c->rows[p->c->baseline]));
        rb_svg_line(out, "ref", x, TOP, x, p->height - BOTTOM);
    }
    for (size_t first = 0, end; first < p->c->row_count; first = end) {
        end = rb_compare_group_end(p->c, first);
        if (!shown_in(p, first, end))
            continue;
        fprintf(out, "<text class=\"name halo\" x=\"%.1f\" y=\"%.1f\">", LEFT + 4, y + GROUP_NAME - 5);
        rb_html_text(out, p->c->rows[first].sampler.text);
        fputs("</text>\n", out);
        y += GROUP_NAME;
        for (size_t i = first; i < end; i++) {
            if (!p->shown[i])
                continue;
            draw_bar(out, p, &p->c->rows[i], y);
            y += BAR_STEP;
        }
        y += GROUP_GAP;
    }
}

void rb_plot_bars(FILE *out, const struct rb_comparison *c, enum rb_bars kind, size_t id)
{
    struct bar_plot p = {.k = &kinds[kind], .c = c, .unit = rb_compare_unit(c)};
    char note[256];

    p.shown = calloc(c->row_count, sizeof(*p.shown));
    if (!p.shown)
        return;
    choose_engines(&p, note, sizeof(note));
    p.height = TOP + BOTTOM;
    for (size_t first = 0, end; first < c->row_count; first = end) {
        end = rb_compare_group_end(c, first);
        const size_t n = shown_in(&p, first, end);
        p.height += n ? GROUP_NAME + GROUP_GAP + BAR_STEP * (double)n : 0;
    }
    rb_figure_begin(out, p.k->title, note);
    rb_svg_begin(out, p.k->id, id, WIDTH, p.height, p.k->title, p.k->description);
    draw_bars(out, &p);
    rb_figure_end(out);
    free(p.shown);
}

// ---- lengths -------------------------------------------------------------------------------------------

#define PANEL_W      290.0
#define PANEL_H      230.0
#define PANEL_LEFT   44.0
#define PANEL_RIGHT  60.0
#define PANEL_TOP    10.0
#define PANEL_BOTTOM 38.0

struct length_plot {
    const struct rb_comparison **by_length; // sorted by length, shortest first
    size_t count;
    struct rb_scale x, y;
    double x_ticks[RB_TICKS], y_ticks[RB_TICKS];
    size_t x_count, y_count;
};

static int by_events(const void *a, const void *b)
{
    const struct rb_comparison *x = *(const struct rb_comparison *const *)a,
                               *y = *(const struct rb_comparison *const *)b;

    return x->events < y->events ? -1 : x->events > y->events;
}

static double seconds_of(const struct rb_comparison *c, size_t row)
{
    return fmax(c->rows[row].of[RB_M_cpu_seconds].median, 1e-7); // the clock may not have advanced
}

// Writes a number of seconds as 10 µs, 1 ms or 100 s.
static void write_seconds(char out[RB_NUMBER], double s)
{
    if (s < 0.9999e-3)
        snprintf(out, RB_NUMBER, "%.3g µs", s * 1e6);
    else if (s < 0.9999)
        snprintf(out, RB_NUMBER, "%.3g ms", s * 1e3);
    else
        snprintf(out, RB_NUMBER, "%.4g s", s);
}

static void write_events(char out[RB_NUMBER], double n)
{
    if (n < 999.5)
        snprintf(out, RB_NUMBER, "%.0f", n);
    else
        snprintf(out, RB_NUMBER, "%.4g%s",
                 n < 999500    ? n / 1e3
                 : n < 9.995e8 ? n / 1e6
                               : n / 1e9,
                 n < 999500    ? "k"
                 : n < 9.995e8 ? "M"
                               : "G");
}

static void length_axes(FILE *out, const struct length_plot *p)
{
    char text[RB_NUMBER];

    rb_svg_line(out, "axis", PANEL_LEFT, PANEL_H - PANEL_BOTTOM, PANEL_W - PANEL_RIGHT,
                PANEL_H - PANEL_BOTTOM);
    for (size_t i = 0; i < p->y_count; i++) {
        const double y = rb_scale_at(&p->y, p->y_ticks[i]);
        if (y < PANEL_TOP || y > PANEL_H - PANEL_BOTTOM)
            continue;
        rb_svg_line(out, "grid", PANEL_LEFT, y, PANEL_W - PANEL_RIGHT, y);
        write_seconds(text, p->y_ticks[i]);
        fprintf(out, "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                PANEL_LEFT - 5, y + 4, text);
    }
    for (size_t i = 0; i < p->x_count; i++) {
        const double x = rb_scale_at(&p->x, p->x_ticks[i]);
        if (x < PANEL_LEFT || x > PANEL_W - PANEL_RIGHT)
            continue;
        rb_svg_line(out, "grid", x, PANEL_TOP, x, PANEL_H - PANEL_BOTTOM);
        write_events(text, p->x_ticks[i]);
        fprintf(out, "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", x,
                PANEL_H - PANEL_BOTTOM + 15, text);
    }
    fprintf(out, "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">events</text>\n",
            (p->x.from + p->x.to) / 2, PANEL_H - 6);
}

static void draw_line(FILE *out, const struct length_plot *p, size_t row)
{
    const struct rb_engine_ops *engine = p->by_length[0]->rows[row].engine;
    const size_t series = rb_engine_series(engine);
    char text[RB_NUMBER];

    fprintf(out, "<polyline class=\"line c%zu\" points=\"", series % RB_SHAPES);
    for (size_t i = 0; i < p->count; i++)
        fprintf(out, "%.1f,%.1f ", rb_scale_at(&p->x, (double)p->by_length[i]->events),
                rb_scale_at(&p->y, seconds_of(p->by_length[i], row)));
    fputs("\"/>\n", out);
    for (size_t i = 0; i < p->count; i++) {
        const struct rb_comparison *c = p->by_length[i];
        rb_mark_begin(out, series, rb_scale_at(&p->x, (double)c->events),
                      rb_scale_at(&p->y, seconds_of(c, row)));
        write_seconds(text, seconds_of(c, row));
        fprintf(out, "<title>%s: %s, ", engine->name, text);
        rb_html_text(out, c->trace);
        fputs("</title>", out);
        rb_mark_end(out);
    }
}

// Writes the engines' names behind the last points, moved apart. Sorts by height with a selection sort:
// there are few.
static void name_lines(FILE *out, const struct length_plot *p, size_t first, size_t end)
{
    const struct rb_comparison *last = p->by_length[p->count - 1];
    size_t row[RB_SHAPES], n = 0;
    double y[RB_SHAPES];

    for (; first + n < end && n < RB_SHAPES; n++) {
        const double height = rb_scale_at(&p->y, seconds_of(last, first + n));
        size_t at = n;
        for (; at > 0 && y[at - 1] > height; at--) {
            y[at] = y[at - 1];
            row[at] = row[at - 1];
        }
        y[at] = height;
        row[at] = first + n;
    }
    rb_spread_apart(y, n, 13, PANEL_TOP, PANEL_H - PANEL_BOTTOM);
    for (size_t i = 0; i < n; i++) {
        const struct rb_engine_ops *engine = last->rows[row[i]].engine;
        fprintf(out, "<text class=\"series c%zu\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
                rb_engine_series(engine) % RB_SHAPES, p->x.to + 9, y[i] + 4, engine->name);
    }
}

static void scale_lengths(struct length_plot *p)
{
    double low = INFINITY, high = 0;

    for (size_t i = 0; i < p->count; i++)
        for (size_t r = 0; r < p->by_length[i]->row_count; r++) {
            low = fmin(low, seconds_of(p->by_length[i], r));
            high = fmax(high, seconds_of(p->by_length[i], r));
        }
    const double shortest = fmax((double)p->by_length[0]->events, 1);
    const double longest = fmax((double)p->by_length[p->count - 1]->events, shortest * 1.5);
    p->x_count = rb_ticks_log(shortest, longest, 5, p->x_ticks);
    p->y_count = rb_ticks_log(low, high, 7, p->y_ticks);
    p->x = (struct rb_scale){shortest, longest, PANEL_LEFT + 10, PANEL_W - PANEL_RIGHT - 6, true};
    p->y = (struct rb_scale){low, fmax(high, low * 1.5), PANEL_H - PANEL_BOTTOM - 8, PANEL_TOP + 6, true};
}

void rb_plot_lengths(FILE *out, const struct rb_comparison *c, size_t count)
{
    struct length_plot p = {.by_length = calloc(count, sizeof(*p.by_length))};

    if (!p.by_length)
        return;
    for (size_t i = 0; i < count; i++) // an empty trace has no position on a logarithmic axis
        if (c[i].events)
            p.by_length[p.count++] = &c[i];
    if (p.count > 1) {
        qsort(p.by_length, p.count, sizeof(*p.by_length), by_events);
        scale_lengths(&p);
        fputs("<div class=\"plots small\">\n", out);
        for (size_t first = 0, end; first < c->row_count; first = end) {
            end = rb_compare_group_end(c, first);
            rb_figure_begin(out, c->rows[first].sampler.text, NULL);
            rb_svg_begin(out, "length", first, PANEL_W, PANEL_H, "Processor time against length",
                         "A line an engine: processor time upwards, events of the trace to the right, both "
                         "logarithmic.");
            length_axes(out, &p);
            for (size_t r = first; r < end; r++)
                draw_line(out, &p, r);
            name_lines(out, &p, first, end);
            rb_figure_end(out);
        }
        fputs("</div>\n", out);
    }
    free(p.by_length);
}
