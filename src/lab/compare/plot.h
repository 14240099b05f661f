// The little that plots need: scales, ticks that people would choose, marks, and labels that keep out of each
// other's way. Writes SVG; coordinates are pixels of the view box. Tool side.
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

// Round numbers that enclose [low, high], at most `most` + 1 of them; the first and the last are the axis'
// ends.
size_t rb_ticks_linear(double low, double high, size_t most, double ticks[RB_TICKS]);
// Powers of ten, or 1-2-5 when these are few. Needs 0 < low <= high.
size_t rb_ticks_log(double low, double high, size_t most, double ticks[RB_TICKS]);

#define RB_SHAPES 8
// Shape and colour number `series`, about 10 pixels wide, without its closing tag's contents: the caller may
// put a <title> inside and must write rb_mark_end.
void rb_mark_begin(FILE *out, size_t series, double x, double y);
void rb_mark_end(FILE *out);

struct rb_box {
    double x, y, w, h;
};

// Width of text in the plots' 12 pixel type, about.
double rb_text_width(const char *text);

struct rb_label {
    const char *text;
    double x, y;       // of the mark it belongs to
    struct rb_box box; // where it was put
    bool lead;         // far enough to need a line
};
// Puts each label near its mark, inside `frame`, clear of `taken` and of each other where that can be.
void rb_place_labels(struct rb_label *labels, size_t count, const struct rb_box *taken, size_t taken_count,
                     struct rb_box frame);

// Moves values apart to at least `gap` from each other within [low, high], in the order they have.
void rb_spread_apart(double *values, size_t count, double gap, double low, double high);

#endif
