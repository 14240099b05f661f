// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of samplers, and the parser of their specifications.
#include "sample/sampler.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- samplers of running programs ----------------------------------------------------------------------

// adaptive decides by measured cost (run/sampler/adaptive/adaptive.c), crsampler and datacollider by
// hardware breakpoints (run/watchpoint/trap_races.c). A trace has neither.

#define BREAKPOINTS                                                                                       \
    "needs hardware breakpoints and works in a running program only; on a trace, take 'static:P', which " \
    "has the same first accesses"

const struct rb_sampler_ops rb_sample_adaptive = {
    .name = "adaptive",
    .parameters = "",
    .help = "cold code first, then as much as budget= allows",
    .online = "decides by measured cost and works in a running "
              "program only; on a trace, take 'literace' or 'random:P'"};
const struct rb_sampler_ops rb_sample_crsampler = {.name = "crsampler",
                                                   .parameters = ":P[,MS]",
                                                   .help =
                                                       "clock races, by breakpoints at a share of the code",
                                                   .online = BREAKPOINTS};
const struct rb_sampler_ops rb_sample_datacollider = {
    .name = "datacollider",
    .parameters = ":P[,MS]",
    .help = "collisions, by breakpoints and delays at a share of the code",
    .online = BREAKPOINTS};

// ---- the table -----------------------------------------------------------------------------------------

const struct rb_sampler_ops *const rb_samplers[] = {
#define RB_SAMPLER(id) &rb_sample_##id,
#include "sample/samplers.def"
#undef RB_SAMPLER
    NULL};

// ---- specifications ------------------------------------------------------------------------------------

#define PACER_LENGTH 4096u // default number of accesses in a period
#define LIMIT_MS     15u   // default limit of a breakpoint (crsampler, datacollider)
#define MOST_MS      10000u

// Lists the known samplers with their parameters for messages: "all", "random:P", ...
static void list_known(char *out, size_t room)
{
    size_t used = 0;

    for (int i = 0; rb_samplers[i] && used < room; i++)
        used += (size_t)snprintf(out + used, room - used, "%s%s%s", i ? " " : "", rb_samplers[i]->name,
                                 rb_samplers[i]->parameters);
}

static bool parse_numbers(const char *text, double *first, double *second, int *count)
{
    char *end;

    *count = 0;
    *first = strtod(text, &end);
    if (end == text)
        return false;
    *count = 1;
    if (*end == ',') {
        text = end + 1;
        *second = strtod(text, &end);
        if (end == text)
            return false;
        *count = 2;
    }
    return *end == 0;
}

static bool is_share(double p)
{
    return p >= 0 && p <= 1; // false for NaN
}

int rb_sampler_parse(const char *text, struct rb_sampler_spec *spec, struct rb_error *e)
{
    const size_t name = strcspn(text, ":");
    const char *rest = text[name] ? text + name + 1 : NULL;
    const struct rb_sampler_ops *ops = NULL;
    double a = 0, b = 0;
    int numbers = 0;
    char known[256];

    *spec = (struct rb_sampler_spec){0};
    for (int i = 0; rb_samplers[i]; i++)
        if (strlen(rb_samplers[i]->name) == name && !strncmp(rb_samplers[i]->name, text, name))
            ops = rb_samplers[i];
    list_known(known, sizeof(known));
    if (!ops)
        return rb_bad_input(e, "sampler '%.40s' is not known; expected one of: %s", text, known);
    if (!*ops->parameters && rest)
        return rb_bad_input(e, "sampler '%.40s': '%s' takes no parameter", text, ops->name);
    if (*ops->parameters && (!rest || !parse_numbers(rest, &a, &b, &numbers)))
        return rb_bad_input(e, "sampler '%.40s': expected %s%s with numbers", text, ops->name,
                            ops->parameters);
    if (strlen(text) >= sizeof(spec->text))
        return rb_bad_input(e, "sampler '%.40s...': expected at most %zu characters", text,
                            sizeof(spec->text) - 1);
    spec->ops = ops;
    spec->p = a;
    snprintf(spec->text, sizeof(spec->text), "%s", text);
    if (ops == &rb_sample_rpt) {
        if (numbers != 2 || !(a > 0 && a <= 1) || !(b > 0 && b < 1))
            return rb_bad_input(e, "sampler '%.40s': expected rpt:EPS,DELTA with 0 < EPS <= 1, 0 < DELTA < 1",
                                text);
        spec->delta = b;
        return 0;
    }
    if (ops == &rb_sample_pacer) {
        if (!is_share(a) || (numbers == 2 && (!(b >= 1 && b <= 1e12) || b != (double)(uint64_t)b)))
            return rb_bad_input(e,
                                "sampler '%.40s': expected pacer:P or pacer:P,LENGTH with P from 0 to 1 "
                                "and a whole LENGTH of at least 1",
                                text);
        spec->length = numbers == 2 ? (uint64_t)b : PACER_LENGTH;
        return 0;
    }
    if (ops == &rb_sample_crsampler || ops == &rb_sample_datacollider) {
        if (!is_share(a) || (numbers == 2 && (!(b >= 1 && b <= MOST_MS) || b != (double)(uint64_t)b)))
            return rb_bad_input(e,
                                "sampler '%.40s': expected %s:P or %s:P,MS with P from 0 to 1 and whole "
                                "milliseconds from 1 to %u",
                                text, ops->name, ops->name, MOST_MS);
        spec->length = numbers == 2 ? (uint64_t)b : LIMIT_MS;
        return 0;
    }
    if (*ops->parameters && (numbers != 1 || !is_share(a)))
        return rb_bad_input(e, "sampler '%.40s': expected one probability from 0 to 1", text);
    return 0;
}

int rb_sampler_parse_offline(const char *text, struct rb_sampler_spec *spec, struct rb_error *e)
{
    const int status = rb_sampler_parse(text, spec, e);

    if (status == 0 && spec->ops->online)
        return rb_bad_input(e, "sampler '%s' %s", spec->ops->name, spec->ops->online);
    return status;
}

int rb_sampler_start(struct rb_sampler *s, const struct rb_sampler_spec *spec,
                     const struct rb_sampler_world *world, uint64_t seed)
{
    memset(s, 0, sizeof(*s));
    s->ops = spec->ops;
    s->spec = *spec;
    s->world = *world;
    rb_rng_seed(&s->rng, seed);
    rb_arena_init(&s->arena, SIZE_MAX);
    return s->ops->start ? s->ops->start(s) : 0;
}

void rb_sampler_stop(struct rb_sampler *s)
{
    rb_arena_destroy(&s->arena);
}
