// The columns of the tables, text and HTML, and how a number is written in them: one list for both.
#ifndef RB_LAB_COMPARE_COMPARE_COLUMNS_H
#define RB_LAB_COMPARE_COMPARE_COLUMNS_H

#include "lab/compare/compare.h"

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
    int spread;               // text: 0 without ±; else the smallest goes first when there is no room
};

extern const struct rb_column rb_columns[];
extern const size_t rb_column_count;

// A comparison's times are all in one unit, chosen by the baseline.
struct rb_unit {
    const char *name;
    double per_second;
};
struct rb_unit rb_compare_unit(const struct rb_comparison *c);

#define RB_NUMBER 24 // bytes a written number needs at most

// "-" for NaN.
void rb_write_number(char out[RB_NUMBER], enum rb_style style, double value, double per_second);

struct rb_written {
    char value[RB_NUMBER];
    char spread[RB_NUMBER]; // "" when there is none
};
// What stands in a column of a row: mean (times: median) and sample standard deviation.
struct rb_written rb_write_column(const struct rb_column *k, const struct rb_compare_row *row,
                                  struct rb_unit unit);

#endif
