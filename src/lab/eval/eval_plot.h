// The plots of the evaluation's page, each a <figure>.
#ifndef RB_LAB_EVAL_EVAL_PLOT_H
#define RB_LAB_EVAL_EVAL_PLOT_H

#include "lab/eval/eval.h"

// Plots recall over the distance of the pair, a line a detector: the engines, or the samplers.
void rb_eval_plot_distance(FILE *out, const struct rb_eval *v, bool engines);
// Plots recall over the effective sampling rate, a mark a detector.
void rb_eval_plot_rate(FILE *out, const struct rb_eval *v);

#endif
