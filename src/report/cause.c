// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/cause.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

// ---- cause ---------------------------------------------------------------------------------------------

// Returns the frame that owns the innermost instruction: functions inlined there come before it.
static const json_t *frame_of_code(const json_t *stack)
{
    const json_t *frame = json_array_get(stack, 0);

    for (size_t i = 1; json_is_true(json_object_get(frame, "inlined")) && i < json_array_size(stack); i++)
        frame = json_array_get(stack, i);
    return frame;
}

// Returns a text for one side of the race; NULL if out of memory.
static char *describe_side(const json_t *access, bool by_instruction)
{
    const json_t *frame = frame_of_code(json_object_get(access, "stack"));
    const char *function = rb_member_text(frame, "function"), *module = rb_member_text(frame, "module");
    char *text;

    if (by_instruction || !function)
        return rb_race_instruction(frame);
    if (asprintf(&text, "%s in %s", function, module ? rb_base_name(module) : "") < 0)
        return NULL;
    return text;
}

static void put_instructions(FILE *out, const json_t *stack)
{
    const json_t *frame;
    char *before = NULL;
    size_t i;

    json_array_foreach(stack, i, frame)
    {
        char *now = rb_race_instruction(frame);
        if (now && (!before || strcmp(now, before) != 0)) // once for all that is inlined there
            fprintf(out, " %s", now);
        free(before);
        before = now;
    }
    free(before);
}

// Prints the name of the data. Returns false if other races on the same data could have another name for
// it.
static bool put_data(FILE *out, const json_t *location)
{
    const char *kind = rb_member_text(location, "kind"), *name = rb_member_text(location, "name"),
               *module = rb_member_text(location, "module");

    fprintf(out, "%s", kind ? kind : "");
    if (!kind)
        return false;
    if (!strcmp(kind, "global")) {
        if (name)
            fprintf(out, " %s in %s", name, module ? rb_base_name(module) : "");
        else
            fprintf(out, " %s+0x%" PRIx64, module ? rb_base_name(module) : "",
                    rb_member_hex(location, "offset"));
        return true;
    }
    if (!strcmp(kind, "heap") && json_array_size(json_object_get(location, "stack"))) {
        put_instructions(out, json_object_get(location, "stack"));
        return true;
    }
    return !strcmp(kind, "fd");
}

static bool is_range(const json_t *access)
{
    return rb_member_int(access, "size") > RB_CAUSE_RANGE;
}

static void put_sides(FILE *out, const json_t *accesses, bool known)
{
    const json_t *access[2] = {json_array_get(accesses, 0), json_array_get(accesses, 1)};
    char *side[2] = {NULL, NULL};

    for (int i = 0; i < 2; i++)
        if (!known || is_range(access[i]) || !is_range(access[!i]))
            side[i] = describe_side(access[i], !known || is_range(access[i]));
    const bool swapped = side[0] && side[1] && strcmp(side[0], side[1]) > 0;
    for (int i = 0; i < 2; i++)
        if (side[i ^ swapped])
            fprintf(out, "\n%s", side[i ^ swapped]);
    free(side[0]);
    free(side[1]);
}

void rb_race_cause(const json_t *record, char cause[RB_ID_SIZE])
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (out) {
        const bool known = put_data(out, json_object_get(record, "location"));
        put_sides(out, json_object_get(record, "accesses"), known);
        if (fclose(out)) {
            free(text);
            text = NULL;
        }
    }
    snprintf(cause, RB_ID_SIZE, "%016" PRIx64, rb_race_hash(text ? text : ""));
    free(text);
}

// ---- groups --------------------------------------------------------------------------------------------

// Returns the number of the race's group. If out of memory, each race is a group of its own.
static size_t find_group(json_t *index, const struct rb_race *race, size_t next)
{
    char key[RB_ID_SIZE + 2];

    snprintf(key, sizeof(key), "%s%c", race->cause,
             json_object_get(race->record, "candidate") ? 'c'
             : rb_race_is_partial(race->record)         ? 'p'
                                                        : 'r');
    const json_t *known = json_object_get(index, key);
    if (known)
        return (size_t)json_integer_value(known);
    json_object_set_new(index, key, json_integer((json_int_t)next));
    return next;
}

// Counts the races of each group, and gives each group its part of the array for `others`.
static void place_others(struct rb_groups *g, const size_t *group, size_t races)
{
    const struct rb_race **next = g->races;

    for (size_t i = 0; i < races; i++)
        g->group[group[i]].count++;
    for (size_t i = 0; i < g->count; i++) {
        g->group[i].others = next;
        next += g->group[i].count;
        g->group[i].count = 0;
    }
}

static void add_race(struct rb_group *g, const struct rb_race *race)
{
    g->seen = g->seen > INT64_MAX - race->count ? INT64_MAX : g->seen + race->count;
    if (!g->shown) {
        g->shown = race;
    } else if (race->is_new && !g->shown->is_new) {
        g->others[g->count++] = g->shown;
        g->shown = race;
    } else {
        g->others[g->count++] = race;
    }
}

int rb_groups_make(struct rb_groups *g, const struct rb_race_list *races, bool apart, struct rb_error *e)
{
    json_t *index = json_object();
    size_t *group = calloc(races->count + 1, sizeof(*group));

    *g = (struct rb_groups){.group = calloc(races->count + 1, sizeof(*g->group)),
                            .races = calloc(races->count + 1, sizeof(*g->races))};
    if (!index || !group || !g->group || !g->races) {
        json_decref(index);
        free(group);
        rb_groups_free(g);
        return rb_internal(e, "out of memory");
    }
    for (size_t i = 0; i < races->count; i++) {
        group[i] = apart ? g->count : find_group(index, &races->race[i], g->count);
        g->count += group[i] == g->count;
    }
    place_others(g, group, races->count);
    for (size_t i = 0; i < races->count; i++)
        add_race(&g->group[group[i]], &races->race[i]);
    json_decref(index);
    free(group);
    return 0;
}

void rb_groups_free(struct rb_groups *g)
{
    free(g->group);
    free(g->races);
    *g = (struct rb_groups){0};
}

static char *describe_access(const json_t *record, size_t access)
{
    const json_t *top = rb_race_top(record, access),
                 *a = json_array_get(json_object_get(record, "accesses"), access);
    const char *function = rb_member_text(top, "function");
    char *place = rb_words_place(top, false, false), *text = NULL;

    if (asprintf(&text, "%s in %s%s%s", rb_member_text(a, "op"), function ? function : "unknown function",
                 place ? " at " : "", place ? place : "") < 0)
        text = NULL;
    free(place);
    return text;
}

char *rb_words_pair(const json_t *record)
{
    char *one = describe_access(record, 0), *two = describe_access(record, 1), *text = NULL;

    if (one && two && asprintf(&text, "%s, %s", one, two) < 0)
        text = NULL;
    free(one);
    free(two);
    return text;
}
