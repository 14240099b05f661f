// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "report/race_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- members -------------------------------------------------------------------------------------------

const char *rb_member_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

uint64_t rb_member_hex(const json_t *object, const char *key)
{
    const char *text = rb_member_text(object, key);

    return text ? strtoull(text, NULL, 16) : 0;
}

json_int_t rb_member_int(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

const char *rb_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

bool rb_race_is_partial(const json_t *record)
{
    const char *evidence = rb_member_text(record, "evidence");

    return evidence && !strcmp(evidence, "partial");
}

const json_t *rb_race_top(const json_t *record, size_t access)
{
    const json_t *accesses = json_object_get(record, "accesses");

    return json_array_get(json_object_get(json_array_get(accesses, access), "stack"), 0);
}

const json_t *rb_race_thread(const json_t *record, json_int_t id)
{
    const json_t *threads = json_object_get(record, "threads"), *thread;
    size_t i;

    json_array_foreach(threads, i, thread)
    {
        if (rb_member_int(thread, "id") == id)
            return thread;
    }
    return NULL;
}

// ---- validation ----------------------------------------------------------------------------------------

enum kind { TEXT, WORD, HEX, COUNT, NUMBER, FLAG, LIST, OBJECT };

static const char *const kind_names[] = {
    [TEXT] = "a string",    [HEX] = "a string like \"0x1f\"", [COUNT] = "a whole number, not negative",
    [NUMBER] = "a number",  [FLAG] = "true or false",         [LIST] = "an array",
    [OBJECT] = "an object",
};

struct field {
    const char *key;
    enum kind kind;
    bool needed;
    const char *words; // of a WORD, with spaces between them
};

static const struct field record_fields[] = {
    {"accesses", LIST, true, NULL},
    {"evidence", WORD, false, "hb clock collision partial"},
    {"unseen", LIST, false, NULL},
    {"pid", COUNT, false, NULL},
    {"host", TEXT, false, NULL},
    {"time", NUMBER, false, NULL},
    {"sampler", TEXT, false, NULL},
    {"engine", TEXT, false, NULL},
    {"program", TEXT, false, NULL},
    {"location", OBJECT, false, NULL},
    {"threads", LIST, false, NULL},
    {"control", OBJECT, false, NULL},
    // in merged reports only
    {"count", COUNT, false, NULL},
    {"first_time", NUMBER, false, NULL},
    {"last_time", NUMBER, false, NULL},
    {"pids", LIST, false, NULL},
    {"hosts", LIST, false, NULL},
    {"evidences", LIST, false, NULL},
    {"cause", TEXT, false, NULL},
};

static const struct field access_fields[] = {
    {"op", WORD, true, "read write"}, {"size", COUNT, true, NULL}, {"address", HEX, true, NULL},
    {"thread", COUNT, true, NULL},    {"stack", LIST, true, NULL}, {"atomic", FLAG, false, NULL},
    {"value", HEX, false, NULL},
};

static const struct field location_fields[] = {
    {"kind", WORD, true, "heap global stack tls fd unknown"},
    {"address", HEX, false, NULL},
    {"size", COUNT, false, NULL},
    {"thread", COUNT, false, NULL},
    {"stack", LIST, false, NULL},
    {"module", TEXT, false, NULL},
    {"build_id", TEXT, false, NULL},
    {"offset", HEX, false, NULL},
    {"fd", COUNT, false, NULL},
    {"name", TEXT, false, NULL},
    {"name_offset", COUNT, false, NULL},
    {"file", TEXT, false, NULL},
    {"line", COUNT, false, NULL},
};

static const struct field thread_fields[] = {
    {"id", COUNT, true, NULL},      {"os_id", COUNT, false, NULL},      {"name", TEXT, false, NULL},
    {"running", FLAG, false, NULL}, {"created_by", COUNT, false, NULL}, {"stack", LIST, false, NULL},
};

static const struct field frame_fields[] = {
    {"module", TEXT, false, NULL},         {"build_id", TEXT, false, NULL}, {"offset", HEX, false, NULL},
    {"address", HEX, false, NULL},         {"function", TEXT, false, NULL}, {"file", TEXT, false, NULL},
    {"line", COUNT, false, NULL},          {"column", COUNT, false, NULL},  {"inlined", FLAG, false, NULL},
    {"function_line", COUNT, false, NULL}, {"note", TEXT, false, NULL},
};

// The position in the line, for messages.
struct check {
    const char *place;
    char path[96];
    struct rb_error *e;
};

static bool is_hex(const char *text)
{
    const size_t digits =
        text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? strspn(text + 2, "0123456789abcdefABCDEF") : 0;

    return digits >= 1 && digits <= 16 && !text[2 + digits];
}

static bool is_word(const char *text, const char *words)
{
    const size_t n = strlen(text);

    for (const char *w = words; n && *w;) {
        const size_t length = strcspn(w, " ");
        if (length == n && !memcmp(w, text, n))
            return true;
        w += length + (w[length] == ' ');
    }
    return false;
}

static bool field_fits(const json_t *value, const struct field *f)
{
    switch (f->kind) {
    case TEXT:
        return json_is_string(value);
    case WORD:
        return json_is_string(value) && is_word(json_string_value(value), f->words);
    case HEX:
        return json_is_string(value) && is_hex(json_string_value(value));
    case COUNT:
        return json_is_integer(value) && json_integer_value(value) >= 0;
    case NUMBER:
        return json_is_number(value);
    case FLAG:
        return json_is_boolean(value);
    case LIST:
        return json_is_array(value);
    case OBJECT:
        return json_is_object(value);
    }
    return false;
}

static int reject_field(const struct check *c, const char *key, const char *expected, const json_t *found)
{
    char *text = found ? json_dumps(found, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
    const int status = rb_bad_input(c->e, "%s: %s%s%s%sexpected %s, found %.40s", c->place, c->path,
                                    *c->path && *key ? "." : "", key, *c->path || *key ? ": " : "", expected,
                                    text ? text : "nothing");

    free(text);
    return status;
}

static int check_fields(const struct check *c, const json_t *object, const struct field *fields, size_t n)
{
    if (!json_is_object(object))
        return reject_field(c, "", kind_names[OBJECT], object);
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_object_get(object, fields[i].key);
        char expected[64];
        if (value ? field_fits(value, &fields[i]) : !fields[i].needed)
            continue;
        snprintf(expected, sizeof(expected), "one of: %s", fields[i].words ? fields[i].words : "");
        return reject_field(c, fields[i].key, fields[i].kind == WORD ? expected : kind_names[fields[i].kind],
                            value);
    }
    return 0;
}

#define CHECK(c, object, table) check_fields(c, object, table, RB_LENGTH(table))

// Checks a stack. `where` names its owner: "accesses[0]".
static int check_stack(struct check *c, const char *where, const json_t *stack)
{
    const json_t *frame;
    size_t i;
    int status;

    json_array_foreach(stack, i, frame)
    {
        snprintf(c->path, sizeof(c->path), "%s.stack[%zu]", where, i);
        if ((status = CHECK(c, frame, frame_fields)) < 0)
            return status;
        if (json_object_get(frame, "module") && !json_object_get(frame, "offset"))
            return reject_field(c, "offset", "the offset in the module", NULL);
        if (!json_object_get(frame, "module") && !json_object_get(frame, "address") &&
            !json_object_get(frame, "function"))
            return reject_field(c, "", "a module and an offset, or an address", frame);
    }
    return 0;
}

static int check_record(struct check *c, const json_t *record)
{
    const json_t *accesses = json_object_get(record, "accesses"),
                 *threads = json_object_get(record, "threads"),
                 *location = json_object_get(record, "location"), *entry;
    char where[32];
    size_t i;
    int status = CHECK(c, record, record_fields);

    if (status < 0)
        return status;
    if (json_array_size(accesses) != 2)
        return rb_bad_input(c->e, "%s: accesses: expected two, found %zu", c->place,
                            json_array_size(accesses));
    json_array_foreach(accesses, i, entry)
    {
        snprintf(c->path, sizeof(c->path), "accesses[%zu]", i);
        memcpy(where, c->path, sizeof(where));
        if ((status = CHECK(c, entry, access_fields)) < 0 ||
            (status = check_stack(c, where, json_object_get(entry, "stack"))) < 0)
            return status;
    }
    json_array_foreach(threads, i, entry)
    {
        snprintf(c->path, sizeof(c->path), "threads[%zu]", i);
        memcpy(where, c->path, sizeof(where));
        if ((status = CHECK(c, entry, thread_fields)) < 0 ||
            (status = check_stack(c, where, json_object_get(entry, "stack"))) < 0)
            return status;
    }
    if (!location)
        return 0;
    snprintf(c->path, sizeof(c->path), "location");
    if ((status = CHECK(c, location, location_fields)) < 0)
        return status;
    return check_stack(c, "location", json_object_get(location, "stack"));
}

static json_t *load_json(const char *line, size_t length, json_error_t *error)
{
    json_t *value = json_loadb(line, length, JSON_REJECT_DUPLICATES, error);

    if (!value && json_error_code(error) == json_error_invalid_utf8) {
        char *clean = malloc(length);
        if (clean) {
            memcpy(clean, line, length);
            rb_text_make_ascii(clean, length);
            value = json_loadb(clean, length, JSON_REJECT_DUPLICATES, error);
        }
        free(clean);
    }
    return value;
}

bool rb_race_line_is_whole(const char *line, size_t length)
{
    json_error_t error;
    json_t *value = load_json(line, length, &error);

    json_decref(value);
    return value != NULL;
}

// Bounds all texts but the suppressions of "control", which no report shows.
static int record_bound(json_t *record, struct rb_error *e)
{
    const char *key;
    json_t *member;
    int status = 0;

    json_object_foreach(record, key, member)
    {
        if (strcmp(key, "control") != 0)
            status |= rb_json_bound(member);
    }
    return status ? rb_internal(e, "out of memory") : 0;
}

int rb_race_parse(const char *line, size_t length, const char *place, json_t **record, struct rb_error *e)
{
    struct check c = {.place = place, .e = e};
    json_error_t error;
    int status;

    *record = load_json(line, length, &error);
    if (!*record)
        return rb_bad_input(e, "%s: column %d: expected a race as a JSON object: %s", place,
                            error.column > 0 ? error.column : 1, error.text);
    status = check_record(&c, *record);
    if (status == 0)
        status = record_bound(*record, e);
    if (status < 0) {
        json_decref(*record);
        *record = NULL;
    }
    return status;
}

// ---- names ---------------------------------------------------------------------------------------------

// FNV-1a with a final mix, so that similar inputs differ in every digit.
uint64_t rb_race_hash(const char *text)
{
    uint64_t h = 0xcbf29ce484222325;

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3;
    h = (h ^ h >> 33) * 0xff51afd7ed558ccd;
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53;
    return h ^ h >> 33;
}

// Returns "a b", the smaller first, and frees both. NULL if out of memory.
static char *join_sorted(char *a, char *b)
{
    char *text = NULL;

    if (a && b && asprintf(&text, "%s %s", strcmp(a, b) <= 0 ? a : b, strcmp(a, b) <= 0 ? b : a) < 0)
        text = NULL;
    free(a);
    free(b);
    return text;
}

// Returns the build of the frame's module: its build-id in small letters, else its base name.
static char *copy_build(const json_t *frame)
{
    const char *module = rb_member_text(frame, "module"), *build = rb_member_text(frame, "build_id");
    char *text = strdup(build && *build ? build : module ? rb_base_name(module) : "");

    for (char *c = text; build && *build && c && *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    return text;
}

// Returns "BUILD+0x12". A frame outside every module has only its address, which is as stable as the system
// makes it.
char *rb_race_instruction(const json_t *frame)
{
    const bool in_module = json_object_get(frame, "module") != NULL;
    char *build = copy_build(frame), *text = NULL;

    if (build &&
        asprintf(&text, "%s+0x%" PRIx64, build, rb_member_hex(frame, in_module ? "offset" : "address")) < 0)
        text = NULL;
    free(build);
    return text;
}

// Returns "FUNCTION@file.c+LINES", NULL if not known.
static char *format_source_place(const json_t *frame)
{
    const char *function = rb_member_text(frame, "function"), *file = rb_member_text(frame, "file");
    const json_int_t line = rb_member_int(frame, "line"), begin = rb_member_int(frame, "function_line");
    char *text;

    if (!function || !file || !line || !begin)
        return NULL;
    if (asprintf(&text, "%s@%s+%" JSON_INTEGER_FORMAT, function, rb_base_name(file), line - begin) < 0)
        return NULL;
    return text;
}

void rb_race_id(const json_t *record, char id[RB_ID_SIZE])
{
    char *text =
        join_sorted(rb_race_instruction(rb_race_top(record, 0)), rb_race_instruction(rb_race_top(record, 1)));

    snprintf(id, RB_ID_SIZE, "%016" PRIx64, rb_race_hash(text ? text : ""));
    free(text);
}

bool rb_race_source_id(const json_t *record, char id[RB_ID_SIZE])
{
    char *text =
        join_sorted(format_source_place(rb_race_top(record, 0)), format_source_place(rb_race_top(record, 1)));

    *id = 0;
    if (text)
        snprintf(id, RB_ID_SIZE, "%016" PRIx64, rb_race_hash(text));
    free(text);
    return *id;
}

char *rb_race_builds(const json_t *record)
{
    return join_sorted(copy_build(rb_race_top(record, 0)), copy_build(rb_race_top(record, 1)));
}
