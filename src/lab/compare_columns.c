#include "lab/compare_columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const struct rb_column rb_columns[] = {
    {RB_M_warnings, RB_COUNT, "warn-", "ings", "found", "warnings", true},
    {RB_M_racy_variables, RB_COUNT, "racy", "vars", "found", "racy variables", true},
    {RB_M_static_races, RB_COUNT, "static", "races", "found", "static races", true},
    {RB_M_recall, RB_PERCENT, "recall", "%", "recall, %", "static races", true},
    {RB_M_recall_rare, RB_PERCENT, NULL, NULL, "recall, %", "rare", true},
    {RB_M_recall_frequent, RB_PERCENT, NULL, NULL, "recall, %", "frequent", true},
    {RB_M_recall_variables, RB_PERCENT, NULL, NULL, "recall, %", "racy variables", true},
    {RB_NOMINAL, RB_RATE, "rate %", "nominal", "sampling rate, %", "nominal", false},
    {RB_M_esr, RB_RATE, "rate %", "effect.", "sampling rate, %", "effective", true},
    {RB_M_skipped_share, RB_PERCENT, "acquires", "skipped %", "synchronisation", "acquires skipped, %", true},
    {RB_M_releases_processed, RB_COUNT, "releases", "processed", "synchronisation", "releases processed",
     false},
    {RB_M_deep_copies, RB_COUNT, "deep", "copies", "synchronisation", "deep copies", false},
    {RB_M_saved_share, RB_PERCENT, "entries", "saved %", "synchronisation", "entries saved, %", false},
    {RB_M_events_read, RB_COUNT, NULL, NULL, "cost", "events read", false},
    {RB_M_seconds, RB_TIME, NULL, NULL, "cost", "wall", false},
    {RB_M_cpu_seconds, RB_TIME, "cpu", NULL, "cost", "cpu", false},
    {RB_SPEEDUP, RB_TIMES, "speed-", "up", "cost", "speed-up", false},
};
const size_t rb_column_count = RB_LENGTH(rb_columns);

struct rb_unit rb_compare_unit(const struct rb_comparison *c)
{
    const double s = c->rows[c->baseline].of[RB_M_cpu_seconds].median;

    return s < 1 ? (struct rb_unit){"ms", 1e3} : (struct rb_unit){"s", 1};
}

// Three significant digits without an exponent: 123, 12.3, 1.23, 0.0123.
static void three_digits(char out[RB_NUMBER], double v)
{
    int decimals = v > 0 ? 2 - (int)floor(log10(v)) : 0;

    if (decimals > 0 && v * pow(10, decimals) >= 999.5) // 9.999 becomes 10.0
        decimals--;
    if (decimals < 0)
        decimals = 0;
    snprintf(out, RB_NUMBER, "%.*f", decimals < 8 ? decimals : 8, v);
}

static void write_count(char out[RB_NUMBER], double v)
{
    static const char units[] = "kMGTPE";

    if (v < 99999.5) {
        if (v == floor(v) || v >= 999.5)
            snprintf(out, RB_NUMBER, "%.0f", v);
        else
            three_digits(out, v);
        return;
    }
    size_t u = 0;
    for (v /= 1e3; v >= 999.5 && units[u + 1]; u++)
        v /= 1e3;
    three_digits(out, v);
    strncat(out, &units[u], 1);
}

static void write_percent(char out[RB_NUMBER], double v)
{
    if (v > 0 && v < 0.0005)
        snprintf(out, RB_NUMBER, "<0.1");
    else if (v < 1 && v >= 0.9995)
        snprintf(out, RB_NUMBER, ">99.9");
    else
        snprintf(out, RB_NUMBER, "%.1f", 100 * v);
}

void rb_write_number(char out[RB_NUMBER], enum rb_style style, double value, double per_second)
{
    if (isnan(value))
        snprintf(out, RB_NUMBER, "-");
    else if (style == RB_COUNT)
        write_count(out, value);
    else if (style == RB_PERCENT)
        write_percent(out, value);
    else if (style == RB_RATE)
        three_digits(out, 100 * value);
    else
        three_digits(out, style == RB_TIME ? value * per_second : value);
}

// The spread says how many digits of the mean are worth something, so two of its own are enough. It never
// says <0.1 as a mean does.
static void write_spread(char out[RB_NUMBER], enum rb_style style, double sd, double per_second)
{
    char number[RB_NUMBER - 3];

    if (!(sd > 0)) {
        out[0] = 0;
        return;
    }
    if (style == RB_PERCENT) {
        snprintf(number, sizeof(number), "%.1f", 100 * sd);
    } else if (style == RB_COUNT && sd >= 99.5) {
        char count[RB_NUMBER];
        write_count(count, sd);
        snprintf(number, sizeof(number), "%.16s", count);
    } else {
        const double v = style == RB_RATE ? 100 * sd : style == RB_TIME ? sd * per_second : sd;
        const int decimals = 1 - (int)floor(log10(v));
        snprintf(number, sizeof(number), "%.*f", decimals < 0 ? 0 : decimals < 6 ? decimals : 6, v);
    }
    snprintf(out, RB_NUMBER, "±%s", number);
}

struct rb_written rb_write_column(const struct rb_column *k, const struct rb_compare_row *row,
                                  struct rb_unit unit)
{
    struct rb_written w = {.spread = ""};

    if (k->what == RB_NOMINAL || k->what == RB_SPEEDUP) {
        rb_write_number(w.value, k->style, k->what == RB_NOMINAL ? row->nominal : row->speedup, 1);
        return w;
    }
    const struct rb_summary *s = &row->of[k->what];
    rb_write_number(w.value, k->style, k->style == RB_TIME ? s->median : s->mean, unit.per_second);
    write_spread(w.spread, k->style, s->sd, unit.per_second);
    return w;
}
