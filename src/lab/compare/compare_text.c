// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the table for a terminal: columns as wide as their contents, mean and ± aligned separately. If 120
// characters are too few, columns are one space apart instead of two, then the least important ± are left
// out.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lab/compare/compare.h"
#include "lab/compare/compare_write.h"

#define WIDTH 120
#define KEYS  2 // sampler, engine

struct column {
    const struct rb_column *k;
    bool spread_shown;
    int value, spread; // widths
};

struct layout {
    const struct rb_comparison *c;
    struct rb_unit unit;
    struct column *columns;
    size_t count;
    int keys[KEYS], gap;
    bool cut; // a ± was left out
};

// Returns the width on a terminal: the number of bytes that do not continue a UTF-8 character.
static int text_width(const char *text)
{
    int n = 0;

    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return n;
}

static void write_blanks(FILE *out, int n)
{
    for (; n > 0; n--)
        putc(' ', out);
}

static void widen_to(int *width_so_far, int w)
{
    if (*width_so_far < w)
        *width_so_far = w;
}

static const char *bottom_of(const struct rb_column *k, struct rb_unit unit)
{
    return k->bottom ? k->bottom : unit.name;
}

static struct rb_written make_cell(const struct layout *l, const struct column *m,
                                   const struct rb_compare_row *row)
{
    struct rb_written w = rb_write_column(m->k, row, l->unit);

    if (!m->spread_shown)
        w.spread[0] = 0;
    if (m->k->style == RB_TIMES && w.value[0] != '-')
        strncat(w.value, "x", 2);
    return w;
}

static void measure_column(struct layout *l, struct column *m)
{
    m->value = m->spread = 0;
    for (size_t r = 0; r < l->c->row_count; r++) {
        const struct rb_written w = make_cell(l, m, &l->c->rows[r]);
        widen_to(&m->value, text_width(w.value));
        widen_to(&m->spread, text_width(w.spread));
    }
    widen_to(&m->value, text_width(m->k->top) - m->spread);
    widen_to(&m->value, text_width(bottom_of(m->k, l->unit)) - m->spread);
}

static int total_width(const struct layout *l)
{
    int sum = l->keys[0] + l->keys[1] + l->gap * (int)(l->count + 1);

    for (size_t i = 0; i < l->count; i++)
        sum += l->columns[i].value + l->columns[i].spread;
    return sum;
}

// Returns the column with the least important ±.
static struct column *least_spread(struct layout *l)
{
    struct column *least = NULL;

    for (size_t i = 0; i < l->count; i++) {
        struct column *m = &l->columns[i];
        if (m->spread > 0 && (!least || m->k->spread < least->k->spread))
            least = m;
    }
    return least;
}

static void lay_out(struct layout *l)
{
    struct column *least;

    for (size_t r = 0; r < l->c->row_count; r++) {
        widen_to(&l->keys[0], text_width(l->c->rows[r].sampler.text));
        widen_to(&l->keys[1], text_width(l->c->rows[r].engine->name));
    }
    for (size_t i = 0; i < rb_column_count; i++) {
        if (!rb_columns[i].top)
            continue;
        l->columns[l->count] = (struct column){.k = &rb_columns[i], .spread_shown = rb_columns[i].spread > 0};
        measure_column(l, &l->columns[l->count++]);
    }
    if (total_width(l) > WIDTH)
        l->gap = 1;
    while (total_width(l) > WIDTH && (least = least_spread(l))) {
        least->spread_shown = false;
        measure_column(l, least);
        l->cut = true;
    }
}

static void print_heading(FILE *out, const struct layout *l, const struct column *m, const char *text)
{
    write_blanks(out, l->gap + m->value + m->spread - text_width(text));
    fputs(text, out);
}

static void print_row(FILE *out, const struct layout *l, const struct rb_compare_row *row)
{
    int behind = 0; // pending blanks: none is written at the end of a line

    fprintf(out, "%-*s%*s%-*s", l->keys[0], row->sampler.text, l->gap, "", l->keys[1], row->engine->name);
    for (size_t i = 0; i < l->count; i++) {
        const struct column *m = &l->columns[i];
        const struct rb_written w = make_cell(l, m, row);
        write_blanks(out, behind + l->gap + m->value - text_width(w.value));
        fprintf(out, "%s%s", w.value, w.spread);
        behind = m->spread - text_width(w.spread);
    }
    putc('\n', out);
}

static void print_table(FILE *out, const struct layout *l)
{
    write_blanks(out, l->keys[0] + l->gap + l->keys[1]);
    for (size_t i = 0; i < l->count; i++)
        print_heading(out, l, &l->columns[i], l->columns[i].k->top);
    fprintf(out, "\n%-*s%*s%-*s", l->keys[0], "sampler", l->gap, "", l->keys[1], "engine");
    for (size_t i = 0; i < l->count; i++)
        print_heading(out, l, &l->columns[i], bottom_of(l->columns[i].k, l->unit));
    for (size_t first = 0, end; first < l->c->row_count; first = end) {
        putc('\n', out);
        end = rb_compare_group_end(l->c, first);
        for (size_t r = first; r < end; r++)
            print_row(out, l, &l->c->rows[r]);
    }
}

void rb_compare_text(FILE *out, const struct rb_comparison *c)
{
    struct layout l = {.c = c,
                       .unit = rb_compare_unit(c),
                       .columns = calloc(rb_column_count, sizeof(*l.columns)),
                       .keys = {(int)strlen("sampler"), (int)strlen("engine")},
                       .gap = 2};

    if (!l.columns) {
        fputs("out of memory\n", out);
        return;
    }
    lay_out(&l);
    fprintf(out,
            "%s: %" PRIu64 " events (%" PRIu64 " accesses), %" PRIu64 " threads, %" PRIu64 " locks, %" PRIu64
            " variables\n",
            c->trace, c->events, c->accesses, c->threads, c->locks, c->variables);
    print_table(out, &l);
    if (c->runs > 1)
        fprintf(out,
                "\n%u runs, seeds %" PRIu64 " to %" PRIu64
                ": mean ± sample standard deviation%s; cpu: median.\n",
                c->runs, c->seed, c->seed + c->runs - 1, l.cut ? ", left out where there is no room" : "");
    else
        fprintf(out, "\nOne run, seed %" PRIu64 ".\n", c->seed);
    fputs("recall: share of the static races of fasttrack on all accesses that were found too; speed-up: "
          "over it;\n"
          "entries saved: of the clocks of acquires not skipped; -: undefined. More in docs/reference/lab.md.\n",
          out);
    free(l.columns);
}
