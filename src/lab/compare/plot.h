// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Basic plotting: scales, round ticks, marks, and labels that avoid each other. Writes SVG; coordinates are
// pixels of the view box. Tool side.
#ifndef RB_LAB_COMPARE_PLOT_H
#define RB_LAB_COMPARE_PLOT_H

#include <stdio.h>

#include "base/types.h"

struct rb_scale {
    double low, high; // of the data
    double from, to;  // pixels
    bool log;
};
double rb_scale_at(const struct rb_scale *s, double value);

#define RB_TICKS 32

// Fills `ticks` with round numbers that enclose [low, high], at most `most` + 1 of them. The first and the
// last are the ends of the axis.
size_t rb_ticks_linear(double low, double high, size_t most, double ticks[RB_TICKS]);
// Fills `ticks` with powers of ten, or with a 1-2-5 series if the powers are few. Needs 0 < low <= high.
size_t rb_ticks_log(double low, double high, size_t most, double ticks[RB_TICKS]);

#define RB_SHAPES 8
// Draws the mark with the shape and colour of series number `series`, about 10 pixels wide, and leaves its
// element open. The caller may put a <title> inside and must call rb_mark_end.
void rb_mark_begin(FILE *out, size_t series, double x, double y);
void rb_mark_end(FILE *out);

struct rb_box {
    double x, y, w, h;
};

// Returns the approximate width of text in the 12 pixel type of the plots.
double rb_text_width(const char *text);

struct rb_label {
    const char *text;
    double x, y;       // position of its mark
    struct rb_box box; // position chosen for the label
    bool lead;         // far enough to need a line to its mark
};
// Puts each label near its mark, inside `frame`, and clear of `taken` and of other labels where possible.
void rb_place_labels(struct rb_label *labels, size_t count, const struct rb_box *taken, size_t taken_count,
                     struct rb_box frame);

// Moves values at least `gap` apart within [low, high] and keeps their order.
void rb_spread_apart(double *values, size_t count, double gap, double low, double high);

#endif
