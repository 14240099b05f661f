#include "report/groups.h"

#include <stdlib.h>
#include <string.h>

#include "report/sentences.h"

// Returns the number of the race's group. Where memory is out each is a group of its own.
static size_t group_of(json_t *index, const struct rb_race *race, size_t next)
{
    char key[RB_ID_SIZE + 2];

    snprintf(key, sizeof(key), "%s%c", race->cause, json_object_get(race->record, "candidate") ? 'c' : 'r');
    const json_t *known = json_object_get(index, key);
    if (known)
        return (size_t)json_integer_value(known);
    json_object_set_new(index, key, json_integer((json_int_t)next));
    return next;
}

// Counts the races of each group, so that `others` have their places.
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
        group[i] = apart ? g->count : group_of(index, &races->race[i], g->count);
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
