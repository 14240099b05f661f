// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The columns of the tables and the format of their numbers.
#include "lab/compare/compare_write.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const struct rb_column rb_columns[] = {
    {RB_M_warnings, RB_COUNT, "warn-", "ings", "found", "warnings", 3},
    {RB_M_racy_variables, RB_COUNT, "racy", "vars", "found", "racy variables", 2},
    {RB_M_static_races, RB_COUNT, "static", "races", "found", "static races", 5},
    {RB_M_recall, RB_PERCENT, "recall", "%", "recall, %", "static races", 6},
    {RB_M_recall_rare, RB_PERCENT, NULL, NULL, "recall, %", "rare", 0},
    {RB_M_recall_frequent, RB_PERCENT, NULL, NULL, "recall, %", "frequent", 0},
    {RB_M_recall_variables, RB_PERCENT, NULL, NULL, "recall, %", "racy variables", 0},
    {RB_NOMINAL, RB_RATE, "rate %", "nominal", "sampling rate, %", "nominal", 0},
    {RB_M_esr, RB_RATE, "rate %", "effect.", "sampling rate, %", "effective", 4},
    {RB_M_skipped_share, RB_PERCENT, "acquires", "skip. %", "synchronisation", "acquires skipped, %", 1},
    {RB_M_releases_processed, RB_COUNT, "releases", "proc.", "synchronisation", "releases processed", 0},
    {RB_M_deep_copies, RB_COUNT, "deep", "copies", "synchronisation", "deep copies", 0},
    {RB_M_saved_share, RB_PERCENT, "entries", "saved %", "synchronisation", "entries saved, %", 0},
    {RB_M_events_read, RB_COUNT, NULL, NULL, "cost", "events read", 0},
    {RB_M_seconds, RB_TIME, NULL, NULL, "cost", "wall", 0},
    {RB_M_cpu_seconds, RB_TIME, "cpu", NULL, "cost", "cpu", 0},
    {RB_SPEEDUP, RB_TIMES, "speed-", "up", "cost", "speed-up", 0},
};
const size_t rb_column_count = RB_LENGTH(rb_columns);

struct rb_unit rb_compare_unit(const struct rb_comparison *c)
{
    const double s = c->rows[c->baseline].of[RB_M_cpu_seconds].median;

    return s < 1 ? (struct rb_unit){"ms", 1e3} : (struct rb_unit){"s", 1};
}

// Format of a value. Its spread uses the same format, so that the two can be compared digit by digit.
struct form {
    double scale;
    int decimals;
    char suffix[2];
};

// Returns the number of decimals that leave `digits` significant digits: for 3, 123 12.3 1.23 0.0123.
static int decimals_for(double v, int digits)
{
    int decimals = v > 0 ? digits - 1 - (int)floor(log10(v)) : 0;

    if (decimals > 0 && v * pow(10, decimals) >= pow(10, digits) - 0.5) // 9.999 becomes 10.0
        decimals--;
    return decimals < 0 ? 0 : decimals > 8 ? 8 : decimals;
}

// Returns the format of a mean of counts: one decimal while it is small, none if all runs agree on a whole
// number.
static struct form form_of_count(double v, bool varies)
{
    static const char units[] = "kMGTPE";
    struct form f = {.scale = 1};

    if (v < 9999.5) {
        if (v < 99.95 && (varies || v != floor(v)))
            f.decimals = v > 0 && v < 0.095 ? 2 : 1;
        return f;
    }
    for (const char *u = units; *u && v * f.scale >= 999.5; u++) {
        f.scale /= 1e3;
        f.suffix[0] = *u;
    }
    f.decimals = decimals_for(v * f.scale, 3);
    return f;
}

static struct form form_of(enum rb_style style, double v, bool varies, double per_second)
{
    switch (style) {
    case RB_COUNT:
        return form_of_count(v, varies);
    case RB_PERCENT:
        return (struct form){.scale = 100, .decimals = 1};
    case RB_RATE:
        return (struct form){.scale = 100, .decimals = decimals_for(100 * v, v < 0.00995 ? 2 : 3)};
    case RB_TIME:
        return (struct form){.scale = per_second, .decimals = decimals_for(v * per_second, 3)};
    default:
        return (struct form){.scale = 1, .decimals = v < 9.995 ? 2 : decimals_for(v, 3)};
    }
}

static void write_as(char out[RB_NUMBER], const char *before, const struct form *f, double v)
{
    snprintf(out, RB_NUMBER, "%s%.*f%s", before, f->decimals, v * f->scale, f->suffix);
}

static void write_value(char out[RB_NUMBER], enum rb_style style, const struct form *f, double v)
{
    if (isnan(v))
        snprintf(out, RB_NUMBER, "-");
    else if (style == RB_PERCENT && v > 0 && v < 0.0005)
        snprintf(out, RB_NUMBER, "<0.1");
    else if (style == RB_PERCENT && v < 1 && v >= 0.9995)
        snprintf(out, RB_NUMBER, ">99.9");
    else
        write_as(out, "", f, v);
}

void rb_write_number(char out[RB_NUMBER], enum rb_style style, double value, double per_second)
{
    const struct form f = form_of(style, value, false, per_second);

    write_value(out, style, &f, value);
}

struct rb_written rb_write_column(const struct rb_column *k, const struct rb_compare_row *row,
                                  struct rb_unit unit)
{
    struct rb_written w = {.spread = ""};

    if (k->what == RB_NOMINAL || k->what == RB_SPEEDUP) {
        if (k->what == RB_NOMINAL && !isnan(row->nominal)) // as in the sampler's text
            snprintf(w.value, sizeof(w.value), "%.6g", 100 * row->nominal);
        else
            rb_write_number(w.value, k->style, k->what == RB_NOMINAL ? row->nominal : row->speedup, 1);
        return w;
    }
    const struct rb_summary *s = &row->of[k->what];
    const double value = k->style == RB_TIME ? s->median : s->mean;
    const struct form f = form_of(k->style, value, s->sd > 0, unit.per_second);
    write_value(w.value, k->style, &f, value);
    if (s->sd * f.scale * pow(10, f.decimals) >= 0.5) // a spread below the last digit shown is not printed
        write_as(w.spread, "±", &f, s->sd);
    return w;
}
