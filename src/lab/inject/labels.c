// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// labels.json: opened, extended, replaced as a whole, and looked up for the verifier.
#include "lab/inject/inject_files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "report/page.h"

#define FILE_NAME "labels.json"
#define VERSION   1

const char *rb_kind_name(const enum rb_op op[2])
{
    return op[0] == RB_WRITE ? (op[1] == RB_WRITE ? "ww" : "wr") : "rw";
}

void rb_program_name(const char *base, char *name, size_t room)
{
    const char *slash = strrchr(base, '/');
    char *dot;

    snprintf(name, room, "%s", slash ? slash + 1 : base);
    dot = strrchr(name, '.');
    if (dot && dot != name)
        *dot = 0;
    for (char *c = name; *c; c++) // the name becomes part of file names and of JSON
        if ((unsigned char)*c <= ' ' || (unsigned char)*c >= 127 || *c == '"' || *c == '\\')
            *c = '_';
}

static json_t *load_labels(const char *path, bool *there, struct rb_error *e)
{
    json_error_t error;
    json_t *root;

    *there = access(path, F_OK) == 0;
    if (!*there)
        return NULL;
    root = json_load_file(path, 0, &error);
    if (!root) {
        rb_bad_input(e, "%s: line %d: %s; expected the labels of an earlier inject, remove it to start anew",
                     path, error.line, error.text);
        return NULL;
    }
    if (!json_is_array(json_object_get(root, "traces")) ||
        json_integer_value(json_object_get(root, "version")) != VERSION) {
        rb_bad_input(e, "%s: no \"traces\" of version %d; expected the labels of an earlier inject", path,
                     VERSION);
        json_decref(root);
        return NULL;
    }
    return root;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static bool is_ours(const json_t *trace, const char *base, uint64_t seed)
{
    return !strcmp(text_of(trace, "base"), base) &&
           json_integer_value(json_object_get(trace, "seed")) == (json_int_t)seed;
}

// Chooses the stem of the files: the program's name and the seed, and a digest of the base's path if
// another base has the same name.
static void choose_stem(struct rb_labels *l, const char *base, uint64_t seed)
{
    char name[160];
    size_t i;
    json_t *trace;
    bool taken = false;

    rb_program_name(base, name, sizeof(name));
    snprintf(l->stem, sizeof(l->stem), "%s-s%" PRIu64, name, seed);
    const size_t length = strlen(l->stem);
    json_array_foreach(l->traces, i, trace)
    {
        const char *file = text_of(trace, "file");
        taken |= strcmp(text_of(trace, "base"), base) != 0 && !strncmp(file, l->stem, length) &&
                 file[length] == '-' && file[length + 1] >= '0' && file[length + 1] <= '9';
    }
    if (taken) {
        uint64_t digest = seed;
        for (const char *c = base; *c; c++)
            digest = rb_mix64(digest * 31 + (unsigned char)*c);
        snprintf(l->stem, sizeof(l->stem), "%s-%08" PRIx32 "-s%" PRIu64, name, (uint32_t)digest, seed);
    }
}

// Removes the entries of an earlier run with the same base and seed; `files` receives their files.
static bool drop_ours(struct rb_labels *l, const char *base, uint64_t seed, json_t *files)
{
    bool good = true;

    for (size_t i = json_array_size(l->traces); i-- > 0;) {
        json_t *trace = json_array_get(l->traces, i);
        if (!is_ours(trace, base, seed))
            continue;
        good &= json_object_set_new(files, text_of(trace, "file"), json_true()) == 0;
        json_array_remove(l->traces, i);
    }
    for (size_t i = json_array_size(l->negatives); i-- > 0;)
        if (json_object_get(files, text_of(json_array_get(l->negatives, i), "file")))
            json_array_remove(l->negatives, i);
    return good;
}

static json_t *array_of(json_t *root, const char *key)
{
    if (!json_is_array(json_object_get(root, key)))
        json_object_set_new(root, key, json_array());
    return json_object_get(root, key);
}

int rb_labels_open(struct rb_labels *l, const char *dir, const char *base, uint64_t seed, struct rb_error *e)
{
    json_t *files = json_object();
    const char *file;
    json_t *unused;
    bool there;
    int status = 0;

    *l = (struct rb_labels){0};
    if (snprintf(l->path, sizeof(l->path), "%s/" FILE_NAME, dir) >= (int)sizeof(l->path) ||
        snprintf(l->temporary, sizeof(l->temporary), "%s/." FILE_NAME ".part", dir) >=
            (int)sizeof(l->temporary)) {
        json_decref(files);
        return rb_bad_input(e, "%.200s: the name of the folder is too long", dir);
    }
    l->root = load_labels(l->path, &there, e);
    if (there && !l->root) {
        json_decref(files);
        return -EINVAL;
    }
    if (!there)
        l->root = json_pack("{s:i, s:s}", "version", VERSION, "tool", "railbird inject");
    if (l->root) {
        l->traces = array_of(l->root, "traces");
        l->negatives = array_of(l->root, "negatives");
    }
    if (!files || !l->traces || !l->negatives || !drop_ours(l, base, seed, files))
        status = rb_internal(e, "out of memory for labels");
    if (status == 0) {
        choose_stem(l, base, seed);
        status = rb_labels_write(l, e);
    }
    json_object_foreach(files, file, unused)
    {
        char path[8192];
        if (status == 0 && !strchr(file, '/') &&
            snprintf(path, sizeof(path), "%s/%s", dir, file) < (int)sizeof(path))
            unlink(path);
    }
    json_decref(files);
    if (status < 0)
        rb_labels_close(l);
    return status;
}

void rb_labels_close(struct rb_labels *l)
{
    json_decref(l->root);
    l->root = l->traces = l->negatives = NULL;
}

bool rb_labels_add(struct rb_labels *l, json_t *trace, json_t *negatives)
{
    bool good = trace && negatives && json_array_append(l->traces, trace) == 0;

    if (good)
        good = json_array_extend(l->negatives, negatives) == 0;
    json_decref(trace);
    json_decref(negatives);
    return good;
}

static json_t *counts_json(const struct rb_labels *l)
{
    static const char *const proofs[] = {"trace", "window", "hb"};
    json_int_t calls = 0, unknown = 0, moves = 0, reversed = 0, side_by_side = 0,
               by_proof[RB_LENGTH(proofs)] = {0};
    json_t *item;
    size_t i;

    json_array_foreach(l->traces, i, item)
    {
        calls += json_integer_value(json_object_get(item, "solver_calls"));
        unknown += json_integer_value(json_object_get(item, "solver_unknown"));
        moves += json_integer_value(json_object_get(item, "scheduler_moves"));
        reversed += json_integer_value(json_object_get(item, "reversed_sections")) > 0;
        side_by_side += json_integer_value(json_object_get(item, "distance")) == 0;
    }
    json_array_foreach(l->negatives, i, item)
    {
        for (size_t k = 0; k < RB_LENGTH(proofs); k++)
            by_proof[k] += !strcmp(text_of(item, "proof"), proofs[k]);
    }
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:{s:I, s:I, s:I}}", "traces",
                     (json_int_t)json_array_size(l->traces), "with_reversed_sections", reversed,
                     "side_by_side", side_by_side, "scheduler_moves", moves, "solver_calls", calls,
                     "solver_unknown", unknown, "negatives", (json_int_t)json_array_size(l->negatives),
                     "negatives_by_proof", proofs[0], by_proof[0], proofs[1], by_proof[1], proofs[2],
                     by_proof[2]);
}

static int by_file(const void *a, const void *b)
{
    return strcmp(text_of(*(json_t *const *)a, "file"), text_of(*(json_t *const *)b, "file"));
}

// Sorts the traces by file name, because workers finish in any order.
static bool sort_by_file(json_t *array)
{
    const size_t n = json_array_size(array);
    json_t **items = malloc((n + 1) * sizeof(*items));

    if (!items)
        return false;
    for (size_t i = 0; i < n; i++)
        items[i] = json_incref(json_array_get(array, i));
    qsort(items, n, sizeof(json_t *), by_file);
    for (size_t i = 0; i < n; i++)
        json_array_set_new(array, i, items[i]);
    free(items);
    return true;
}

int rb_labels_write(struct rb_labels *l, struct rb_error *e)
{
    FILE *out;

    if (!sort_by_file(l->traces) || json_object_set_new(l->root, "counts", counts_json(l)) < 0)
        return rb_internal(e, "out of memory for labels");
    out = fopen(l->temporary, "we");
    if (!out)
        return rb_bad_input(e, "%s: cannot create: %s; -o needs a folder that can be written", l->temporary,
                            strerror(errno));
    errno = 0;
    const bool written =
        json_dumpf(l->root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(6)) == 0 && fputc('\n', out) != EOF;
    if (fclose(out) != 0 || !written || rename(l->temporary, l->path) != 0) {
        const int status = rb_internal(e, "%s: cannot write: %s", l->path, strerror(errno));
        unlink(l->temporary);
        return status;
    }
    return 0;
}

// ---- lookups -------------------------------------------------------------------------------------------

static json_t *label_of(json_t *root, const char *file)
{
    json_t *trace;
    size_t i;

    json_array_foreach(json_object_get(root, "traces"), i, trace)
    {
        if (!strcmp(text_of(trace, "file"), file))
            return trace;
    }
    return NULL;
}

static int label_differs(const char *path, const char *file, const char *key, const char *label,
                         const char *trace, struct rb_error *e)
{
    return rb_bad_input(e, "%s: \"%s\" of %s is %s; the trace has %s", path, key, file, label, trace);
}

static int compare_number(const char *path, const char *file, const char *key, const json_t *value,
                          uint64_t trace, struct rb_error *e)
{
    char a[32], b[32];

    if (json_is_integer(value) && json_integer_value(value) >= 0 &&
        (uint64_t)json_integer_value(value) == trace)
        return 0;
    snprintf(a, sizeof(a), json_is_integer(value) ? "%" JSON_INTEGER_FORMAT : "no number",
             json_integer_value(value));
    snprintf(b, sizeof(b), "%" PRIu64, trace);
    return label_differs(path, file, key, a, b, e);
}

static int compare_text(const char *path, const char *file, const char *key, const json_t *value,
                        const char *trace, struct rb_error *e)
{
    const char *text = json_string_value(value);
    char *wanted = rb_utf8(trace);
    int status = 0;

    if (!wanted)
        status = rb_internal(e, "out of memory for labels");
    else if (!text || strcmp(text, wanted) != 0)
        status = label_differs(path, file, key, text ? text : "no text", wanted, e);
    free(wanted);
    return status;
}

static int compare_label(const char *path, const char *file, const json_t *label, const struct rb_reader *r,
                         const struct rb_event events[2], const struct rb_verify_pair *p, struct rb_error *e)
{
    const json_t *at = json_object_get(label, "events"), *threads = json_object_get(label, "threads");
    char scratch[32];
    int status = compare_number(path, file, "distance", json_object_get(label, "distance"), p->distance, e);

    for (size_t k = 0; k < 2 && status == 0; k++) {
        status = compare_number(path, file, "events", json_array_get(at, k), p->at[k], e);
        if (status == 0)
            status = compare_text(path, file, "threads", json_array_get(threads, k),
                                  rb_reader_name(r, RBT_THREADS, events[k].thread, scratch), e);
    }
    if (status == 0)
        status = compare_text(path, file, "kind", json_object_get(label, "kind"), rb_kind_name(p->op), e);
    if (status == 0)
        status = compare_text(path, file, "variable", json_object_get(label, "variable"),
                              rb_reader_name(r, RBT_VARIABLES, p->variable, scratch), e);
    return status;
}

int rb_labels_check(struct rb_reader *injected, const struct rb_verify_pair *pair, struct rb_error *e)
{
    const char *slash = strrchr(injected->path, '/'), *file = slash ? slash + 1 : injected->path;
    const int folder = slash ? (int)(slash - injected->path) : 1;
    struct rb_event events[2];
    char path[4096];
    bool there = false;
    json_t *root, *label;
    int status = 0;

    if (snprintf(path, sizeof(path), "%.*s/" FILE_NAME, folder, slash ? injected->path : ".") >=
        (int)sizeof(path))
        return 0;
    root = load_labels(path, &there, e);
    if (!root)
        return there ? -EINVAL : 0;
    label = label_of(root, file);
    for (int k = 0; k < 2 && label && status == 0; k++)
        status = rb_reader_event(injected, pair->at[k], &events[k], e);
    if (label && status == 0)
        status = compare_label(path, file, label, injected, events, pair, e);
    json_decref(root);
    return status < 0 ? status : label != NULL;
}
