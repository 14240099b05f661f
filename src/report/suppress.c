// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/suppress.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
    const char *name;
    enum rb_suppress_type type;
} types[] = {
    {"race", RB_SUPPRESS_RACE},
    {"race_top", RB_SUPPRESS_RACE_TOP},
    {"called_from_lib", RB_SUPPRESS_LIBRARY},
    {"thread", RB_SUPPRESS_OTHER},
    {"mutex", RB_SUPPRESS_OTHER},
    {"signal", RB_SUPPRESS_OTHER},
    {"deadlock", RB_SUPPRESS_OTHER},
};

// ---- patterns ------------------------------------------------------------------------------------------

// Returns true if `text` matches from its first character. The end is free unless the pattern is `tied` to
// it. One remembered star suffices: a later one makes the choice for an earlier one irrelevant.
static bool match_here(const char *pattern, size_t length, const char *text, bool tied)
{
    size_t p = 0, star = SIZE_MAX;
    const char *t = text, *retry = NULL;

    for (;;) {
        if (p < length && pattern[p] == '*') {
            star = ++p;
            retry = t;
        } else if (p == length && (!tied || !*t)) {
            return true;
        } else if (p < length && *t && pattern[p] == *t) {
            p++, t++;
        } else if (star != SIZE_MAX && *retry) {
            t = ++retry;
            p = star;
        } else {
            return false;
        }
    }
}

bool rb_suppress_matches(const char *pattern, const char *text)
{
    size_t length = strlen(pattern);
    const bool from_start = *pattern == '^';
    bool to_end;

    if (!text || !*text) // as in ThreadSanitizer: no pattern matches an empty name
        return false;
    pattern += from_start;
    length -= from_start;
    to_end = length && pattern[length - 1] == '$';
    length -= to_end;
    if (from_start)
        return match_here(pattern, length, text, to_end);
    do
        if (match_here(pattern, length, text, to_end))
            return true;
    while (*text++);
    return false;
}

// ---- file ----------------------------------------------------------------------------------------------

void rb_suppressions_free(struct rb_suppressions *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->list[i].pattern);
    free(s->list);
    *s = (struct rb_suppressions){0};
}

static int append_suppression(struct rb_suppressions *s, enum rb_suppress_type type, const char *pattern,
                              size_t length, struct rb_error *e)
{
    if (s->count == s->room) {
        const size_t room = s->room ? 2 * s->room : 16;
        struct rb_suppression *grown = realloc(s->list, room * sizeof(*grown));
        if (!grown)
            return rb_internal(e, "out of memory for suppressions");
        s->list = grown;
        s->room = room;
    }
    s->list[s->count] = (struct rb_suppression){.type = type, .pattern = strndup(pattern, length)};
    if (!s->list[s->count].pattern)
        return rb_internal(e, "out of memory for suppressions");
    s->count++;
    return 0;
}

// Parses one line, which has no blanks at either end.
static int parse_line(struct rb_suppressions *s, const char *line, size_t length, const char *name,
                      size_t number, struct rb_error *e)
{
    const char *colon = memchr(line, ':', length);
    const size_t word = colon ? (size_t)(colon - line) : length, rest = colon ? word + 1 : length;

    if (!length || *line == '#')
        return 0;
    if (!colon)
        return rb_bad_input(e, "%s:%zu: '%.*s': expected type:pattern, as in race:function", name, number,
                            (int)(length < 60 ? length : 60), line);
    for (size_t i = 0; i < RB_LENGTH(types); i++) {
        if (strlen(types[i].name) != word || memcmp(types[i].name, line, word))
            continue;
        if (rest == length)
            return rb_bad_input(e, "%s:%zu: nothing behind '%s:'; %s:* would be all of them", name, number,
                                types[i].name, types[i].name);
        return append_suppression(s, types[i].type, line + rest, length - rest, e);
    }
    return rb_bad_input(e,
                        "%s:%zu: '%.*s' is not a type; expected race, race_top, called_from_lib, thread, "
                        "mutex, signal or deadlock",
                        name, number, (int)(word < 60 ? word : 60), line);
}

int rb_suppressions_parse(struct rb_suppressions *s, const char *text, const char *name, struct rb_error *e)
{
    int status = 0, one;

    for (size_t number = 1; *text; number++) {
        const char *end = strchrnul(text, '\n'), *next = *end ? end + 1 : end;
        while (text < end && strchr(" \t\r", *text))
            text++;
        while (end > text && strchr(" \t\r", end[-1]))
            end--;
        one = parse_line(s, text, (size_t)(end - text), name, number, e);
        if (one < 0 && status == 0)
            status = one;
        text = next;
    }
    return status;
}

#define FILE_LIMIT (16 << 20)

int rb_suppressions_read(struct rb_suppressions *s, const char *path, struct rb_error *e)
{
    FILE *in = fopen(path, "re");
    char *text = NULL;
    size_t size;
    int status;

    if (!in)
        return rb_bad_input(e, "%s: cannot read suppressions: %m", path);
    text = malloc(FILE_LIMIT + 1);
    if (!text) {
        fclose(in);
        return rb_internal(e, "out of memory");
    }
    size = fread(text, 1, FILE_LIMIT + 1, in);
    if (ferror(in))
        status = rb_bad_input(e, "%s: cannot read suppressions: %m", path);
    else if (size > FILE_LIMIT)
        status = rb_bad_input(e, "%s: larger than 16 MiB; expected suppressions, a line each", path);
    else if (memchr(text, 0, size))
        status = rb_bad_input(e, "%s: has zero bytes; expected suppressions, a line each", path);
    else {
        text[size] = 0;
        status = rb_suppressions_parse(s, text, path, e);
    }
    free(text);
    fclose(in);
    return status;
}

// ---- races ---------------------------------------------------------------------------------------------

static bool names_match(const char *pattern, const json_t *frame)
{
    return rb_suppress_matches(pattern, rb_member_text(frame, "function")) ||
           rb_suppress_matches(pattern, rb_member_text(frame, "file")) ||
           rb_suppress_matches(pattern, rb_member_text(frame, "module"));
}

static bool library_matches(const char *pattern, const json_t *frame)
{
    const char *module = rb_member_text(frame, "module");

    return module &&
           (rb_suppress_matches(pattern, module) || rb_suppress_matches(pattern, rb_base_name(module)));
}

static bool suppression_matches(const struct rb_suppression *s, const json_t *record)
{
    const json_t *location = json_object_get(record, "location"), *access, *frame;
    size_t i, k;

    if (s->type == RB_SUPPRESS_OTHER)
        return false;
    json_array_foreach(json_object_get(record, "accesses"), i, access)
    {
        json_array_foreach(json_object_get(access, "stack"), k, frame)
        {
            if (s->type == RB_SUPPRESS_LIBRARY ? library_matches(s->pattern, frame)
                                               : names_match(s->pattern, frame))
                return true;
            if (s->type == RB_SUPPRESS_RACE_TOP)
                break;
        }
    }
    return s->type == RB_SUPPRESS_RACE &&
           (rb_suppress_matches(s->pattern, rb_member_text(location, "name")) ||
            rb_suppress_matches(s->pattern, rb_member_text(location, "module")));
}

const struct rb_suppression *rb_suppressed(const struct rb_suppressions *s, const json_t *record)
{
    for (size_t i = 0; i < s->count; i++)
        if (suppression_matches(&s->list[i], record))
            return &s->list[i];
    return NULL;
}
