// The plots of the comparison's page, each a <figure>. `id` makes the ids of its title and description
// unique.
#ifndef RB_LAB_COMPARE_COMPARE_PLOT_H
#define RB_LAB_COMPARE_COMPARE_PLOT_H

#include "lab/compare/compare.h"

// Recall of each sampler over its effective rate.
void rb_plot_recall(FILE *out, const struct rb_comparison *c, size_t id);

// Bars, a group a sampler, a bar an engine.
enum rb_bars { RB_BARS_TIME, RB_BARS_SKIPPED, RB_BARS_SAVED };
void rb_plot_bars(FILE *out, const struct rb_comparison *c, enum rb_bars kind, size_t id);

// Processor time over length, a panel a sampler, a line an engine. All comparisons have the same rows.
void rb_plot_lengths(FILE *out, const struct rb_comparison *c, size_t count);

// For the files that draw.
void rb_figure_begin(FILE *out, const char *name, const char *note);
void rb_svg_begin(FILE *out, const char *id, size_t number, double w, double h, const char *title,
                  const char *description);
void rb_figure_end(FILE *out);
void rb_svg_line(FILE *out, const char *class, double x1, double y1, double x2, double y2);
size_t rb_engine_series(const struct rb_engine_ops *engine); // its shape and colour

#endif
