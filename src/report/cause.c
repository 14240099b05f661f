#include "report/cause.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The frame that the innermost instruction belongs to: functions inlined there come before it.
static const json_t *frame_of_code(const json_t *stack)
{
    const json_t *frame = json_array_get(stack, 0);

    for (size_t i = 1; json_is_true(json_object_get(frame, "inlined")) && i < json_array_size(stack); i++)
        frame = json_array_get(stack, i);
    return frame;
}

// A text for one side of the race; NULL when memory is out.
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

// Prints what the data is. Returns false if it has no name that other races on it would have.
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
