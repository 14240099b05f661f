// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The common parts of the writers of `compare` and `eval`: columns, numbers, and plots. Tool side.
#ifndef RB_LAB_COMPARE_COMPARE_WRITE_H
#define RB_LAB_COMPARE_COMPARE_WRITE_H

#include <math.h>

#include "lab/compare/compare.h"

// ---- columns -------------------------------------------------------------------------------------------

// The columns of the tables, text and HTML, and the format of their numbers: one list for both.

enum rb_style {
    RB_COUNT,   // exact below 10 000, then 12.3k, 1.23M
    RB_PERCENT, // a share, one decimal; 100.0 and 0.0 only when they are
    RB_RATE,    // a share over several decades: percent, three digits, below 1 two
    RB_TIME,    // seconds, three digits in the table's unit
    RB_TIMES,   // a factor
};

enum rb_special { RB_NOMINAL = RB_METRICS, RB_SPEEDUP }; // columns that are not metrics

struct rb_column {
    int what; // enum rb_metric or rb_special
    enum rb_style style;
    const char *top, *bottom; // text: the two lines of its heading; top NULL: not in text
    const char *group;        // HTML: heading over neighbours
    const char *name;         // HTML
    int spread;               // text: 0 without ±; else the least is left out first if there is no room
};

extern const struct rb_column rb_columns[];
extern const size_t rb_column_count;

// The unit of all times of a comparison, chosen by the baseline.
struct rb_unit {
    const char *name;
    double per_second;
};
struct rb_unit rb_compare_unit(const struct rb_comparison *c);

#define RB_NUMBER 24 // largest size of a written number in bytes

// Writes a number; NaN becomes "-".
void rb_write_number(char out[RB_NUMBER], enum rb_style style, double value, double per_second);

struct rb_written {
    char value[RB_NUMBER];
    char spread[RB_NUMBER]; // "" when there is none
};
// Writes a column of a row: mean (times: median) and sample standard deviation.
struct rb_written rb_write_column(const struct rb_column *k, const struct rb_compare_row *row,
                                  struct rb_unit unit);

// ---- JSON ----------------------------------------------------------------------------------------------

// Returns a JSON number: without a point if it is whole, null if it is undefined.
static inline json_t *rb_json_number(double v)
{
    if (!isfinite(v))
        return json_null();
    return v == floor(v) && fabs(v) < 1e15 ? json_integer((json_int_t)v) : json_real(v);
}

static inline json_t *rb_json_count(uint64_t v)
{
    return json_integer((json_int_t)v);
}

// ---- plots ---------------------------------------------------------------------------------------------

// The functions below write a <figure> each. `id` makes the ids of its title and description unique.

// Plots the recall of each sampler over its effective rate.
void rb_plot_recall(FILE *out, const struct rb_comparison *c, size_t id);

// Plots bars, a group a sampler, a bar an engine.
enum rb_bars { RB_BARS_TIME, RB_BARS_SKIPPED, RB_BARS_SAVED };
void rb_plot_bars(FILE *out, const struct rb_comparison *c, enum rb_bars kind, size_t id);

// Plots processor time over length, a panel a sampler, a line an engine. All comparisons have the same
// rows.
void rb_plot_lengths(FILE *out, const struct rb_comparison *c, size_t count);

// Parts of a figure.
void rb_figure_begin(FILE *out, const char *name, const char *note);
void rb_svg_begin(FILE *out, const char *id, size_t number, double w, double h, const char *title,
                  const char *description);
void rb_figure_end(FILE *out);
void rb_svg_line(FILE *out, const char *class, double x1, double y1, double x2, double y2);
size_t rb_engine_series(const struct rb_engine_ops *engine); // number of its shape and colour

#endif
