// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/race_merge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/cause.h"

static const struct {
    const char *one, *many;
    json_type type;
} set_keys[] = {
#define X(name, one, many, type) [RB_SET_##name] = {one, many, type},
    RB_RACE_SETS(X)
#undef X
};

// ---- a race --------------------------------------------------------------------------------------------

static void set_add(json_t *set, json_type type, json_t *value)
{
    const json_t *other;
    size_t i;

    if (!value || json_typeof(value) != type || json_array_size(set) >= RB_SET_LIMIT)
        return;
    json_array_foreach(set, i, other)
    {
        if (json_equal(other, value))
            return;
    }
    json_array_append(set, value);
}

// Adds the counts, times and places of one record, which may be merged already.
static void count_record(struct rb_race *race, const json_t *record)
{
    const json_t *count = json_object_get(record, "count");
    const json_t *time = json_object_get(record, "time"), *first = json_object_get(record, "first_time"),
                 *last = json_object_get(record, "last_time");
    json_int_t more;
    json_t *value;
    size_t k;

    more = count && json_integer_value(count) > 0 ? json_integer_value(count) : 1;
    race->count = race->count > INT64_MAX - more ? INT64_MAX : race->count + more;
    if (first || time)
        race->first_time = fmin(race->first_time, json_number_value(first ? first : time));
    if (last || time)
        race->last_time = fmax(race->last_time, json_number_value(last ? last : time));
    for (int i = 0; i < RB_SET_COUNT; i++) {
        set_add(race->sets[i], set_keys[i].type, json_object_get(record, set_keys[i].one));
        json_array_foreach(json_object_get(record, set_keys[i].many), k, value)
        {
            set_add(race->sets[i], set_keys[i].type, value);
        }
    }
}

int rb_race_single(struct rb_race *race, json_t *record, struct rb_error *e)
{
    bool whole = true;

    *race = (struct rb_race){.record = json_incref(record), .first_time = NAN, .last_time = NAN};
    for (int i = 0; i < RB_SET_COUNT; i++)
        whole &= (race->sets[i] = json_array()) != NULL;
    if (!whole) {
        rb_race_free(race);
        return rb_internal(e, "out of memory");
    }
    rb_race_id(record, race->id);
    rb_race_source_id(record, race->source_id);
    rb_race_cause(record, race->cause);
    count_record(race, record);
    return 0;
}

void rb_race_free(struct rb_race *race)
{
    json_decref(race->record);
    for (int i = 0; i < RB_SET_COUNT; i++)
        json_decref(race->sets[i]);
    *race = (struct rb_race){0};
}

// ---- the set -------------------------------------------------------------------------------------------

void rb_race_list_init(struct rb_race_list *races)
{
    *races = (struct rb_race_list){0};
}

void rb_race_list_free(struct rb_race_list *races)
{
    for (size_t i = 0; i < races->count; i++)
        rb_race_free(&races->race[i]);
    free(races->race);
    json_decref(races->index);
    rb_race_list_init(races);
}

static struct rb_race *find_race(const struct rb_race_list *races, const char *id)
{
    const json_t *at = races->index ? json_object_get(races->index, id) : NULL;

    return at ? &races->race[json_integer_value(at)] : NULL;
}

const struct rb_race *rb_race_list_find(const struct rb_race_list *races, const char *id)
{
    return find_race(races, id);
}

static int append_race(struct rb_race_list *races, json_t *record, const char *id, struct rb_error *e)
{
    if (!races->index && !(races->index = json_object()))
        return rb_internal(e, "out of memory");
    if (races->count == races->room) {
        const size_t room = races->room ? 2 * races->room : 16;
        struct rb_race *grown = realloc(races->race, room * sizeof(*grown));
        if (!grown)
            return rb_internal(e, "out of memory for %zu races", room);
        races->race = grown;
        races->room = room;
    }
    const int status = rb_race_single(&races->race[races->count], record, e);
    if (status < 0)
        return status;
    if (json_object_set_new(races->index, id, json_integer((json_int_t)races->count)) < 0) {
        rb_race_free(&races->race[races->count]);
        return rb_internal(e, "out of memory");
    }
    races->count++;
    return 0;
}

void rb_race_list_end(struct rb_race_list *races)
{
    struct rb_race *ordered = malloc((races->count + 1) * sizeof(*ordered));
    size_t n = 0;

    json_decref(races->index);
    races->index = NULL;
    for (int partial = 0; ordered && partial < 2; partial++)
        for (size_t i = 0; i < races->count; i++)
            if (rb_race_is_partial(races->race[i].record) == partial)
                ordered[n++] = races->race[i];
    if (n)
        memcpy(races->race, ordered, n * sizeof(*ordered));
    free(ordered);
}

int rb_race_list_add(struct rb_race_list *races, json_t *record, struct rb_error *e)
{
    char id[RB_ID_SIZE];
    struct rb_race *race;
    int status = 0;

    json_object_del(record, "control");
    rb_race_id(record, id);
    race = find_race(races, id);
    if (race && !json_object_get(record, "candidate")) // one proof makes a candidate a race
        json_object_del(race->record, "candidate");
    json_t *evidence = json_object_get(record, "evidence");
    if (race && rb_race_is_partial(race->record) && evidence && !rb_race_is_partial(record)) { // so does this
        json_object_set(race->record, "evidence", evidence);
        json_object_del(race->record, "unseen");
    }
    if (race)
        count_record(race, record);
    else
        status = append_race(races, record, id, e);
    json_decref(record);
    return status;
}

// ---- baseline ------------------------------------------------------------------------------------------

int rb_baseline_init(struct rb_baseline *b, struct rb_error *e)
{
    *b = (struct rb_baseline){.ids = json_object(), .sources = json_object()};
    if (b->ids && b->sources)
        return 0;
    rb_baseline_free(b);
    return rb_internal(e, "out of memory");
}

void rb_baseline_free(struct rb_baseline *b)
{
    json_decref(b->ids);
    json_decref(b->sources);
    *b = (struct rb_baseline){0};
}

// Returns the id of an object without accesses, as {"id": "0123456789abcdef"}; NULL for any other object.
static const char *find_bare_id(const json_t *object)
{
    const char *id = rb_member_text(object, "id");

    if (!id || json_object_get(object, "accesses") || strlen(id) != RB_ID_SIZE - 1)
        return NULL;
    return strspn(id, "0123456789abcdef") == RB_ID_SIZE - 1 ? id : NULL;
}

static int add_race(struct rb_baseline *b, const json_t *record, struct rb_error *e)
{
    char id[RB_ID_SIZE], source[RB_ID_SIZE];
    int status;

    rb_race_id(record, id);
    status = json_object_set_new(b->ids, id, json_true());
    if (rb_race_source_id(record, source)) {
        json_t *builds = json_object_get(b->sources, source);
        char *key = rb_race_builds(record);
        if (!builds) {
            builds = json_object();
            status |= json_object_set_new(b->sources, source, builds);
        }
        status |= key ? json_object_set_new(builds, key, json_true()) : -1;
        free(key);
    }
    return status ? rb_internal(e, "out of memory") : 0;
}

int rb_baseline_add(struct rb_baseline *b, const char *line, size_t length, const char *place,
                    struct rb_error *e)
{
    json_t *object = json_loadb(line, length, 0, NULL);
    const char *id = find_bare_id(object);
    int status;

    if (id) {
        status = json_object_set_new(b->ids, id, json_true()) ? rb_internal(e, "out of memory") : 0;
        json_decref(object);
        return status;
    }
    json_decref(object);
    status = rb_race_parse(line, length, place, &object, e);
    if (status < 0)
        return status;
    status = add_race(b, object, e);
    json_decref(object);
    return status;
}

static bool is_known(const struct rb_baseline *b, const struct rb_race *race)
{
    const json_t *builds = json_object_get(b->sources, race->source_id);
    char *key;
    bool known;

    if (json_object_get(b->ids, race->id))
        return true;
    if (!*race->source_id || !builds)
        return false;
    key = rb_race_builds(race->record);
    known = key && !json_object_get(builds, key);
    free(key);
    return known;
}

size_t rb_baseline_mark(const struct rb_baseline *b, struct rb_race_list *races)
{
    size_t count = 0;

    for (size_t i = 0; i < races->count; i++) {
        races->race[i].is_new = !is_known(b, &races->race[i]);
        count += races->race[i].is_new;
    }
    return count;
}
