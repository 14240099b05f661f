// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The sentences that all formats of a report share.
#include "report/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "report/race_record.h"

static char *format_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *format_text(const char *format, ...)
{
    char *text;
    va_list args;

    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    return text;
}

// ---- threads -------------------------------------------------------------------------------------------

char *rb_words_thread(const json_t *record, json_int_t id)
{
    const char *name = rb_member_text(rb_race_thread(record, id), "name");
    const bool named = name && *name;

    if (id == 0)
        return strdup("main thread");
    return format_text("thread T%" JSON_INTEGER_FORMAT "%s%s%s", id, named ? " '" : "", named ? name : "",
                       named ? "'" : "");
}

char *rb_words_creation(const json_t *record, const json_t *thread)
{
    const json_t *running = json_object_get(thread, "running"), *by = json_object_get(thread, "created_by"),
                 *os_id = json_object_get(thread, "os_id");
    char *name = rb_words_thread(record, rb_member_int(thread, "id"));
    char *creator = by ? rb_words_thread(record, json_integer_value(by)) : NULL;
    char *number = os_id ? format_text("tid=%" JSON_INTEGER_FORMAT, json_integer_value(os_id)) : NULL;
    const char *state = running ? (json_is_true(running) ? "running" : "finished") : NULL;
    const bool known = number || state;
    char *text = NULL;

    if (name)
        text = format_text("%c%s%s%s%s%s%s%s%s", name[0] == 't' ? 'T' : 'M', name + 1, known ? " (" : "",
                           number ? number : "", number && state ? ", " : "", state ? state : "",
                           known ? ")" : "", creator ? " created by " : "", creator ? creator : "");
    free(name);
    free(creator);
    free(number);
    return text;
}

// ---- accesses ------------------------------------------------------------------------------------------

char *rb_words_access(const json_t *record, size_t access)
{
    static const char *const words[2][2][2] = {
        // later or earlier, plain or atomic, read or write
        {{"Read", "Write"}, {"Atomic read", "Atomic write"}},
        {{"Previous read", "Previous write"}, {"Previous atomic read", "Previous atomic write"}},
    };
    const json_t *a = json_array_get(json_object_get(record, "accesses"), access);
    const bool atomic = json_is_true(json_object_get(a, "atomic")),
               write = !strcmp(rb_member_text(a, "op"), "write");
    char *thread = rb_words_thread(record, rb_member_int(a, "thread")), *text = NULL;

    if (thread)
        text = format_text("%s of size %" JSON_INTEGER_FORMAT " at 0x%012" PRIx64 " by %s",
                           words[access][atomic][write], rb_member_int(a, "size"),
                           rb_member_hex(a, "address"), thread);
    free(thread);
    return text;
}

const char *rb_words_evidence(const json_t *record)
{
    const char *evidence = rb_member_text(record, "evidence");

    if (!evidence)
        return "not stated";
    if (!strcmp(evidence, "hb"))
        return "happens-before";
    if (!strcmp(evidence, "partial"))
        return "partial";
    return evidence[1] == 'l' ? "clock" : "collision";
}

char *rb_words_unseen(const json_t *record)
{
    const json_t *unseen = json_object_get(record, "unseen"), *name;
    char *text = NULL;
    size_t size, i;
    FILE *out;

    if (!json_array_size(unseen) || !(out = open_memstream(&text, &size)))
        return NULL;
    fputs("order made in ", out);
    json_array_foreach(unseen, i, name)
    {
        fprintf(out, "%s%s", i ? ", " : "", json_is_string(name) ? json_string_value(name) : "a library");
    }
    fputs(" could not be followed", out);
    return fclose(out) == 0 ? text : NULL;
}

// ---- location ------------------------------------------------------------------------------------------

static char *describe_global(const json_t *record, const json_t *location)
{
    const json_t *accesses = json_object_get(record, "accesses");
    const char *name = rb_member_text(location, "name"), *module = rb_member_text(location, "module"),
               *file = rb_member_text(location, "file"), *note = rb_member_text(location, "note");
    const uint64_t into = (uint64_t)rb_member_int(location, "name_offset"),
                   at = rb_member_hex(json_array_get(accesses, 0), "address") - into,
                   offset = rb_member_hex(location, "offset") - into;
    char *place = NULL, *where = NULL, *inside = NULL, *text = NULL;

    if (module)
        place = format_text(" (%s+0x%" PRIx64 ")%s%s%s", rb_base_name(module), offset, note ? " (" : "",
                            note ? note : "", note ? ")" : "");
    if (into)
        inside = format_text(", %" PRIu64 " bytes into it", into);
    if (file)
        where = format_text(", defined at %s:%" JSON_INTEGER_FORMAT, file, rb_member_int(location, "line"));
    if (name)
        text =
            format_text("Location is global '%s' of size %" JSON_INTEGER_FORMAT " at 0x%012" PRIx64 "%s%s%s",
                        name, rb_member_int(location, "size"), at, place ? place : "", inside ? inside : "",
                        where ? where : "");
    else
        text = format_text("Location is global memory at 0x%012" PRIx64 "%s", at, place ? place : "");
    free(place);
    free(where);
    free(inside);
    return text;
}

char *rb_words_location(const json_t *record)
{
    const json_t *location = json_object_get(record, "location"),
                 *thread = json_object_get(location, "thread");
    const char *kind = rb_member_text(location, "kind");
    char *who = thread ? rb_words_thread(record, json_integer_value(thread)) : NULL, *text = NULL;

    if (!kind)
        return NULL;
    if (!strcmp(kind, "global"))
        text = describe_global(record, location);
    else if (!strcmp(kind, "heap"))
        text = format_text("Location is heap block of size %" JSON_INTEGER_FORMAT " at 0x%012" PRIx64 "%s%s",
                           rb_member_int(location, "size"), rb_member_hex(location, "address"),
                           who ? " allocated by " : "", who ? who : "");
    else if (!strcmp(kind, "fd"))
        text = format_text("Location is file descriptor %" JSON_INTEGER_FORMAT "%s%s",
                           rb_member_int(location, "fd"), who ? " created by " : "", who ? who : "");
    else if (!strcmp(kind, "stack") || !strcmp(kind, "tls"))
        text =
            format_text("Location is %s of %s", kind[0] == 's' ? "stack" : "TLS", who ? who : "some thread");
    free(who);
    return text;
}

// ---- frames --------------------------------------------------------------------------------------------

char *rb_words_place(const json_t *frame, bool with_folder, bool with_column)
{
    const char *file = rb_member_text(frame, "file");
    const json_int_t line = rb_member_int(frame, "line"), column = rb_member_int(frame, "column");

    if (!file)
        return NULL;
    if (!with_folder)
        file = rb_base_name(file);
    if (line && column && with_column)
        return format_text("%s:%" JSON_INTEGER_FORMAT ":%" JSON_INTEGER_FORMAT, file, line, column);
    return line ? format_text("%s:%" JSON_INTEGER_FORMAT, file, line) : strdup(file);
}

#define NAME_LIMIT ((size_t)160) // bytes of a function's name in a line for people

// Returns the name of the frame's function, for free(); NULL if it has none.
static char *format_function(const json_t *frame, bool verbose)
{
    const char *function = rb_member_text(frame, "function");

    return function ? rb_name_shorten(function, verbose ? RB_TEXT_LIMIT : NAME_LIMIT) : NULL;
}

char *rb_words_frame(const json_t *frame, bool verbose)
{
    const char *module = rb_member_text(frame, "module"), *build_id = rb_member_text(frame, "build_id"),
               *note = rb_member_text(frame, "note");
    const bool has_build = verbose && build_id && *build_id;
    char *function = format_function(frame, verbose), *place = rb_words_place(frame, true, true),
         *code = NULL, *text = NULL;

    if (module)
        code = format_text(" (%s+0x%" PRIx64 ")", rb_base_name(module), rb_member_hex(frame, "offset"));
    else if (json_object_get(frame, "address"))
        code = format_text(" (0x%012" PRIx64 ")", rb_member_hex(frame, "address"));
    text = format_text("%s %s%s%s%s%s%s%s%s", function ? function : "<null>", place ? place : "<null>",
                       code ? code : "", has_build ? " (BuildId: " : "", has_build ? build_id : "",
                       has_build ? ")" : "", note ? " (" : "", note ? note : "", note ? ")" : "");
    free(function);
    free(place);
    free(code);
    return text;
}

char *rb_words_summary(const json_t *record, bool verbose)
{
    const json_t *first = rb_race_top(record, 0), *top = first ? first : rb_race_top(record, 1);
    const char *module = rb_member_text(top, "module");
    char *function = format_function(top, verbose), *place = rb_words_place(top, true, false), *text;

    if (!place && module)
        place = format_text("(%s+0x%" PRIx64 ")", rb_base_name(module), rb_member_hex(top, "offset"));
    else if (!place && top)
        place = format_text("(0x%012" PRIx64 ")", rb_member_hex(top, "address"));
    text = format_text("data race %s%s%s", place ? place : "<null>", function ? " in " : "",
                       function ? function : "");
    free(function);
    free(place);
    return text;
}

// ---- seen ----------------------------------------------------------------------------------------------

static void print_time(FILE *out, const char *word, double time)
{
    const time_t seconds = isfinite(time) && fabs(time) < 1e12 ? (time_t)time : 0;
    struct tm parts;
    char text[64];

    if (seconds && gmtime_r(&seconds, &parts) && strftime(text, sizeof(text), "%F %T UTC", &parts))
        fprintf(out, ", %s %s", word, text);
}

char *rb_words_seen(const struct rb_race *race)
{
    const json_t *hosts = race->sets[RB_SET_HOSTS], *host;
    const size_t processes = json_array_size(race->sets[RB_SET_PIDS]);
    char *text = NULL;
    size_t size, i;
    FILE *out;

    if (race->count < 2 || !(out = open_memstream(&text, &size)))
        return NULL;
    fprintf(out, "seen %" JSON_INTEGER_FORMAT " times", race->count);
    if (processes > 1)
        fprintf(out, " in %zu%s processes", processes, processes == RB_SET_LIMIT ? " or more" : "");
    json_array_foreach(hosts, i, host)
    {
        fprintf(out, "%s%s", i ? ", " : " on ", json_string_value(host));
    }
    print_time(out, "first", race->first_time);
    print_time(out, "last", race->last_time);
    return fclose(out) == 0 ? text : NULL;
}
