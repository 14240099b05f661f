// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lab/compare/plot.h"

#include <math.h>
#include <string.h>

double rb_scale_at(const struct rb_scale *s, double value)
{
    const double low = s->log ? log10(s->low) : s->low, high = s->log ? log10(s->high) : s->high;
    const double v = s->log ? log10(value) : value;

    return high > low ? s->from + (s->to - s->from) * (v - low) / (high - low) : (s->from + s->to) / 2;
}

// ---- ticks ---------------------------------------------------------------------------------------------

size_t rb_ticks_linear(double low, double high, size_t most, double ticks[RB_TICKS])
{
    static const double nice[] = {1, 2, 2.5, 5, 10};
    const double raw = (high > low ? high - low : 1) / (double)most;
    const double power = pow(10, floor(log10(raw)));
    double step = power;
    size_t n = 0;

    for (size_t i = 0; i < RB_LENGTH(nice) && step < raw * 0.999999; i++)
        step = nice[i] * power;
    const double first = floor(low / step + 1e-9);
    do {
        ticks[n] = (first + (double)n) * step;
    } while (ticks[n++] < high - step * 1e-9 && n < RB_TICKS);
    return n;
}

size_t rb_ticks_log(double low, double high, size_t most, double ticks[RB_TICKS])
{
    static const double few[] = {1, 2, 5};
    const double decades = log10(high / low);
    const bool fine = decades * 3 + 1 < (double)most; // 1-2-5 fits
    const int every = fine ? 1 : (int)ceil((decades + 1) / (double)most);
    const int first = (int)floor(log10(low) + 1e-9);
    size_t n = 0;

    for (int d = first; n < RB_TICKS; d += every) {
        for (size_t i = 0; i < (fine ? RB_LENGTH(few) : 1) && n < RB_TICKS; i++) {
            const double tick = few[i] * pow(10, d);
            if (n && tick <= low * (1 + 1e-9))
                n = 0; // closer ticks follow
            ticks[n++] = tick;
            if (tick >= high * (1 - 1e-9) && n > 1)
                return n;
        }
    }
    return n;
}

// ---- marks ---------------------------------------------------------------------------------------------

void rb_mark_begin(FILE *out, size_t series, double x, double y)
{
    // around the origin: square, diamond, triangle up, triangle down, (circle), cross, bar, pentagon
    static const char *const path[RB_SHAPES] = {"M-4-4H4V4H-4Z",
                                                "M0-5.5 5.5 0 0 5.5-5.5 0Z",
                                                "M0-5.5 5 4H-5Z",
                                                "M0 5.5 5-4H-5Z",
                                                NULL,
                                                "M-2-5H2V-2H5V2H2V5H-2V2H-5V-2H-2Z",
                                                "M-5-2.5H5V2.5H-5Z",
                                                "M0-5 5-1 3 5H-3L-5-1Z"};
    const size_t shape = series % RB_SHAPES;
    const char *fill = shape == 1 ? "hollow" : "mark"; // two of a pair often lie on one another

    if (path[shape])
        fprintf(out, "<path class=\"c%zu %s\" transform=\"translate(%.1f %.1f)\" d=\"%s\">", shape, fill, x,
                y, path[shape]);
    else
        fprintf(out,
                "<path class=\"c%zu %s\" transform=\"translate(%.1f %.1f)\" d=\"M-5 0a5 5 0 1 0 10 0a5 5 0 "
                "1 0-10 0Z\">",
                shape, fill, x, y);
}

void rb_mark_end(FILE *out)
{
    fputs("</path>\n", out);
}

// ---- labels --------------------------------------------------------------------------------------------

double rb_text_width(const char *text)
{
    double w = 0;

    for (; *text; text++) {
        if (((unsigned char)*text & 0xc0) == 0x80)
            continue; // inside a UTF-8 character
        w += strchr(".,:;|!'ijl-", *text) ? 3.9 : strchr("mwMW%", *text) ? 10.2 : 7.1;
    }
    return w;
}

static double overlap_area(struct rb_box a, struct rb_box b)
{
    const double w = fmin(a.x + a.w, b.x + b.w) - fmax(a.x, b.x);
    const double h = fmin(a.y + a.h, b.y + b.h) - fmax(a.y, b.y);

    return w > 0 && h > 0 ? w * h : 0;
}

static double outside_area(struct rb_box b, struct rb_box frame)
{
    return b.w * b.h - overlap_area(b, frame);
}

#define LABEL_HEIGHT 14.0
#define DIRECTIONS   8
#define RINGS        5

// Places labels greedily: each label takes the best of 8 directions at 5 distances. The right of the mark
// comes first, so that it wins among equal costs.
void rb_place_labels(struct rb_label *labels, size_t count, const struct rb_box *taken, size_t taken_count,
                     struct rb_box frame)
{
    static const struct {
        double x, y;
    } way[DIRECTIONS] = {{1, 0}, {-1, 0}, {0, -1}, {0, 1}, {1, -1}, {-1, -1}, {1, 1}, {-1, 1}};

    for (size_t i = 0; i < count; i++) {
        struct rb_label *l = &labels[i];
        const double w = rb_text_width(l->text);
        double best = INFINITY;
        for (size_t ring = 0; ring < RINGS; ring++) {
            const double r = 9 + 13 * (double)ring;
            for (size_t d = 0; d < DIRECTIONS; d++) {
                const struct rb_box b = {l->x + way[d].x * r -
                                             (way[d].x < 0    ? w
                                              : way[d].x == 0 ? w / 2
                                                              : 0),
                                         l->y + way[d].y * (r + LABEL_HEIGHT / 2) - LABEL_HEIGHT / 2, w,
                                         LABEL_HEIGHT};
                double cost = (double)(ring * 8 + d) + 20 * outside_area(b, frame);
                for (size_t t = 0; t < taken_count; t++)
                    cost += 3 * overlap_area(b, taken[t]);
                for (size_t t = 0; t < i; t++)
                    cost += 10 * overlap_area(b, labels[t].box);
                if (cost < best) {
                    best = cost;
                    l->box = b;
                    l->lead = ring > 0;
                }
            }
        }
    }
}

// Neighbours that are too close push each other apart a little each round, so that a crowd stays around its
// middle.
void rb_spread_apart(double *values, size_t count, double gap, double low, double high)
{
    for (int round = 0; round < 100; round++) {
        for (size_t i = 0; i + 1 < count; i++) {
            const double lack = gap - (values[i + 1] - values[i]);
            if (lack > 0) {
                values[i] -= lack / 2;
                values[i + 1] += lack / 2;
            }
        }
        for (size_t i = 0; i < count; i++) {
            const double least = low + gap * (double)i, most = high - gap * (double)(count - 1 - i);
            values[i] = fmax(least, fmin(most, values[i]));
        }
    }
}
