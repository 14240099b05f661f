// The table for a terminal: columns as wide as their contents, mean and ± each aligned. One space between
// columns when two would not fit in 120.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lab/compare.h"
#include "lab/compare_columns.h"

#define WIDTH 120
#define KEYS  2 // sampler, engine

struct column {
    const struct rb_column *k;
    int value, spread; // widths
    int heading;
};

// Columns on a terminal: bytes that do not continue a UTF-8 character.
static int width(const char *text)
{
    int n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void pad(FILE *out, int n)
{
    for (; n > 0; n--)
        putc(' ', out);
}

static void grow(int *width_so_far, int w)
{
    if (*width_so_far < w)
        *width_so_far = w;
}

static const char *bottom_of(const struct rb_column *k, struct rb_unit unit)
{
    return k->bottom ? k->bottom : unit.name;
}

static struct rb_written cell(const struct rb_column *k, const struct rb_compare_row *row, struct rb_unit unit)
{
    struct rb_written w = rb_write_column(k, row, unit);

    if (!k->spread)
        w.spread[0] = 0;
    return w;
}

static size_t measure(const struct rb_comparison *c, struct rb_unit unit, struct column *columns)
{
    size_t n = 0;

    for (size_t i = 0; i < rb_column_count; i++) {
        const struct rb_column *k = &rb_columns[i];
        if (!k->top)
            continue;
        struct column *m = &columns[n++];
        *m = (struct column){.k = k, .heading = width(k->top)};
        grow(&m->heading, width(bottom_of(k, unit)));
        for (size_t r = 0; r < c->row_count; r++) {
            const struct rb_written w = cell(k, &c->rows[r], unit);
            grow(&m->value, width(w.value));
            grow(&m->spread, width(w.spread));
        }
        grow(&m->value, m->heading - m->spread);
    }
    return n;
}

static void heading(FILE *out, const struct column *m, int gap, const char *text)
{
    pad(out, gap + m->value + m->spread - width(text));
    fputs(text, out);
}

static void print_row(FILE *out, const struct column *columns, size_t count, const int keys[KEYS], int gap,
                      const struct rb_compare_row *row, struct rb_unit unit)
{
    int behind = 0; // blanks owed: none at the end of a line

    fprintf(out, "%-*s%*s%-*s", keys[0], row->sampler.text, gap, "", keys[1], row->engine->name);
    for (size_t i = 0; i < count; i++) {
        const struct rb_written w = cell(columns[i].k, row, unit);
        pad(out, behind + gap + columns[i].value - width(w.value));
        fprintf(out, "%s%s", w.value, w.spread);
        behind = columns[i].spread - width(w.spread);
    }
    putc('\n', out);
}

static void print_table(FILE *out, const struct rb_comparison *c, const struct column *columns, size_t count,
                        struct rb_unit unit)
{
    int keys[KEYS] = {(int)strlen("sampler"), (int)strlen("engine")}, total, gap = 2;

    for (size_t r = 0; r < c->row_count; r++) {
        grow(&keys[0], width(c->rows[r].sampler.text));
        grow(&keys[1], width(c->rows[r].engine->name));
    }
    total = keys[0] + keys[1] + gap * (int)(count + 1);
    for (size_t i = 0; i < count; i++)
        total += columns[i].value + columns[i].spread;
    if (total > WIDTH)
        gap = 1;

    pad(out, keys[0] + gap + keys[1]);
    for (size_t i = 0; i < count; i++)
        heading(out, &columns[i], gap, columns[i].k->top);
    fprintf(out, "\n%-*s%*s%-*s", keys[0], "sampler", gap, "", keys[1], "engine");
    for (size_t i = 0; i < count; i++)
        heading(out, &columns[i], gap, bottom_of(columns[i].k, unit));
    for (size_t first = 0, end; first < c->row_count; first = end) {
        putc('\n', out);
        end = rb_compare_group_end(c, first);
        for (size_t r = first; r < end; r++)
            print_row(out, columns, count, keys, gap, &c->rows[r], unit);
    }
}

void rb_compare_text(FILE *out, const struct rb_comparison *c)
{
    const struct rb_unit unit = rb_compare_unit(c);
    struct column *columns = calloc(rb_column_count, sizeof(*columns));

    if (!columns) {
        fputs("out of memory\n", out);
        return;
    }
    fprintf(out,
            "%s: %" PRIu64 " events (%" PRIu64 " accesses), %" PRIu64 " threads, %" PRIu64 " locks, %" PRIu64
            " variables\n",
            c->trace, c->events, c->accesses, c->threads, c->locks, c->variables);
    print_table(out, c, columns, measure(c, unit, columns), unit);
    fputs("\nrecall: share of the static races of fasttrack on all accesses that the run found; ", out);
    if (c->runs > 1)
        fprintf(out, "mean ± sample standard\ndeviation of %u runs, seeds %" PRIu64 " to %" PRIu64 "; ", c->runs,
                c->seed, c->seed + c->runs - 1);
    else
        fprintf(out, "one run, seed %" PRIu64 ";\n", c->seed);
    fprintf(out, "cpu: %sprocessor time; speed-up: over fasttrack on all;\n"
                 "entries saved: of the clocks of acquires not skipped; -: undefined (docs/compare.md)\n",
            c->runs > 1 ? "median " : "");
    free(columns);
}
