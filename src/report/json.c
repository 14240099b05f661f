// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// JSON lines: each record with names, an id, and the results of merging. The output is valid input: reports
// may be merged in any number of steps.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

#define STYLE (JSON_COMPACT | JSON_REAL_PRECISION(15))

static int set_time(json_t *object, const char *key, double time)
{
    return isnan(time) ? 0 : json_object_set_new(object, key, json_real(time));
}

static json_t *make_with_id(const struct rb_race *race)
{
    json_t *object = json_pack("{s:s}", "id", race->id);

    if (object && *race->source_id)
        json_object_set_new(object, "source_id", json_string(race->source_id));
    if (object)
        json_object_set_new(object, "cause", json_string(race->cause));
    return object;
}

static int add_record(json_t *object, const struct rb_race *race)
{
    const char *key;
    json_t *value;
    int status = 0;

    // json_object_foreach does not change the object, but has no form for a const one
    json_object_foreach((json_t *)race->record, key, value)
    {
        if (!json_object_get(object, key) && strcmp(key, "new") && strcmp(key, "control"))
            status |= json_object_set(object, key, value);
    }
    return status;
}

json_t *rb_report_race_json(const struct rb_race *race, bool has_baseline)
{
    static const char *const keys[] = {
#define X(name, one, many, type) [RB_SET_##name] = many,
        RB_RACE_SETS(X)
#undef X
    };
    json_t *object = make_with_id(race);
    int status = 0;

    if (has_baseline)
        status |= json_object_set_new(object, "new", json_boolean(race->is_new));
    status |= json_object_set_new(object, "count", json_integer(race->count));
    status |= set_time(object, "first_time", race->first_time);
    status |= set_time(object, "last_time", race->last_time);
    for (int i = 0; i < RB_SET_COUNT; i++)
        status |= json_object_set(object, keys[i], race->sets[i]);
    status |= add_record(object, race);
    if (status == 0)
        return object;
    json_decref(object);
    return NULL;
}

char *rb_report_single_json(const struct rb_race *race, size_t *length)
{
    json_t *object = make_with_id(race);
    char *line = object && add_record(object, race) == 0 ? json_dumps(object, STYLE) : NULL, *whole = NULL;

    json_decref(object);
    if (line) {
        *length = strlen(line) + 1;
        whole = realloc(line, *length + 1);
    }
    if (whole)
        strcpy(whole + *length - 1, "\n");
    else
        free(line);
    return whole;
}

int rb_report_json(FILE *out, const struct rb_report *report, struct rb_error *e)
{
    for (size_t i = 0; i < report->races->count; i++) {
        json_t *object = rb_report_race_json(&report->races->race[i], report->has_baseline);
        if (!object)
            return rb_internal(e, "out of memory for JSON");
        json_dumpf(object, out, STYLE); // the caller checks the stream for errors
        json_decref(object);
        fputc('\n', out);
    }
    return 0;
}
