// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads and checks labels.json as `railbird inject` writes it. A message about a missing or wrong value
// names its place. eval.c compares a label with its trace when it opens the trace.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lab/eval/eval.h"

const char *const rb_eval_proofs[RB_PROOFS] = {"trace", "window", "hb"};

// The current place in the file, for messages.
struct place {
    const char *path, *list;
    size_t index;
    struct rb_error *e;
};

static int bad_value(const struct place *at, const char *key, const char *expected)
{
    return rb_bad_input(at->e, "%s: %s[%zu]: \"%s\": expected %s", at->path, at->list, at->index, key,
                        expected);
}

// Copies a string; *out is NULL if it is optional and absent.
static int text_of(const struct place *at, const json_t *o, const char *key, bool needed, char **out)
{
    const json_t *v = json_object_get(o, key);

    *out = NULL;
    if (!v && !needed)
        return 0;
    if (!json_is_string(v) || !*json_string_value(v))
        return bad_value(at, key, "a text");
    *out = strdup(json_string_value(v));
    return *out ? 0 : rb_internal(at->e, "out of memory for the labels");
}

static int pair_of(const struct place *at, const json_t *o, uint64_t events[2])
{
    const json_t *v = json_object_get(o, "events");

    for (size_t i = 0; i < 2; i++) {
        const json_t *number = json_array_get(v, i);
        if (json_array_size(v) != 2 || !json_is_integer(number) || json_integer_value(number) < 0)
            return bad_value(at, "events", "the numbers of two events");
        events[i] = (uint64_t)json_integer_value(number);
    }
    return events[0] < events[1] ? 0 : bad_value(at, "events", "the earlier event first");
}

static int threads_of(const struct place *at, const json_t *o, char *threads[2])
{
    const json_t *v = json_object_get(o, "threads");

    if (!v)
        return 0;
    for (size_t i = 0; i < 2; i++) {
        const char *name = json_string_value(json_array_get(v, i));
        if (json_array_size(v) != 2 || !name)
            return bad_value(at, "threads", "the names of two threads");
        if (!(threads[i] = strdup(name)))
            return rb_internal(at->e, "out of memory for the labels");
    }
    return 0;
}

// Finds the program of a trace. Recordings NAME.ANYTHING belong to program NAME; without "program", the
// file's name is used.
static int program_of(const struct place *at, const json_t *o, struct rb_eval_labels *l,
                      struct rb_eval_label *t)
{
    const json_t *v = json_object_get(o, "program");
    const char *name = v ? json_string_value(v) : t->file;

    if (!name || !*name)
        return bad_value(at, "program", "a text");
    const size_t until = strcspn(name + 1, ".") + 1; // ".x" is a name too
    for (t->program = 0; t->program < l->program_count; t->program++)
        if (strlen(l->programs[t->program]) == until && !strncmp(l->programs[t->program], name, until))
            return 0;
    char *copy = strndup(name, until);
    if (!copy)
        return rb_internal(at->e, "out of memory for the labels");
    l->programs[l->program_count++] = copy; // there is room for one program a trace
    return 0;
}

static int number_of(const struct place *at, const json_t *o, const char *key, bool needed, int64_t *out)
{
    const json_t *v = json_object_get(o, key);

    *out = -1;
    if (!v && !needed)
        return 0;
    if (!json_is_integer(v) || json_integer_value(v) < 0)
        return bad_value(at, key, "a whole number");
    *out = json_integer_value(v);
    return 0;
}

static int read_label(const struct place *at, const json_t *o, struct rb_eval_labels *l)
{
    struct rb_eval_label *t = &l->traces[l->count++];
    int64_t distance;
    int status;

    if (!json_is_object(o))
        return rb_bad_input(at->e, "%s: %s[%zu]: expected an object", at->path, at->list, at->index);
    if ((status = text_of(at, o, "file", true, &t->file)) ||
        (status = text_of(at, o, "base", false, &t->base)) ||
        (status = text_of(at, o, "variable", true, &t->variable)) ||
        (status = text_of(at, o, "kind", false, &t->kind)) || (status = pair_of(at, o, t->events)) ||
        (status = threads_of(at, o, t->threads)) ||
        (status = number_of(at, o, "distance", true, &distance)) ||
        (status = number_of(at, o, "reversed_sections", false, &t->reversed)) ||
        (status = program_of(at, o, l, t)))
        return status;
    t->distance = (uint64_t)distance;
    if (t->distance != t->events[1] - t->events[0] - 1)
        return bad_value(at, "distance", "the number of events between the two");
    if (asprintf(&t->path, "%s/%s", l->dir, t->file) < 0) {
        t->path = NULL;
        return rb_internal(at->e, "out of memory for the labels");
    }
    return 0;
}

static int by_file(const void *a, const void *b)
{
    return strcmp((*(struct rb_eval_label *const *)a)->file, (*(struct rb_eval_label *const *)b)->file);
}

static int compare_name(const void *file, const void *label)
{
    return strcmp(file, (*(struct rb_eval_label *const *)label)->file);
}

static int read_negative(const struct place *at, const json_t *o, struct rb_eval_labels *l,
                         struct rb_eval_label *const *sorted)
{
    const char *file = json_string_value(json_object_get(o, "file"));
    const char *proof = json_string_value(json_object_get(o, "proof"));
    struct rb_eval_negative n = {.proof = RB_PROOFS};
    int status = pair_of(at, o, n.events);

    if (status < 0)
        return status;
    for (int i = 0; i < RB_PROOFS; i++)
        if (proof && !strcmp(proof, rb_eval_proofs[i]))
            n.proof = (enum rb_eval_proof)i;
    if (n.proof == RB_PROOFS)
        return bad_value(at, "proof", "\"trace\", \"window\" or \"hb\"");
    struct rb_eval_label *const *found =
        file ? bsearch(file, sorted, l->count, sizeof(*sorted), compare_name) : NULL;
    if (!found)
        return bad_value(at, "file", "the file of one of the traces");
    struct rb_eval_label *t = *found;
    struct rb_eval_negative *more = realloc(t->negatives, (t->negative_count + 1) * sizeof(*more));
    if (!more)
        return rb_internal(at->e, "out of memory for the labels");
    t->negatives = more;
    t->negatives[t->negative_count++] = n;
    l->negatives[n.proof]++;
    return 0;
}

static int read_negatives(struct place *at, const json_t *list, struct rb_eval_labels *l)
{
    struct rb_eval_label **sorted = calloc(l->count + 1, sizeof(*sorted));
    const json_t *o;
    int status = sorted ? 0 : rb_internal(at->e, "out of memory for the labels");

    for (size_t i = 0; sorted && i < l->count; i++)
        sorted[i] = &l->traces[i];
    if (sorted)
        qsort(sorted, l->count, sizeof(*sorted), by_file);
    for (size_t i = 0; status == 0 && i + 1 < l->count; i++)
        if (!strcmp(sorted[i]->file, sorted[i + 1]->file))
            status = rb_bad_input(at->e, "%s: %s is labelled twice; expected each file once", at->path,
                                  sorted[i]->file);
    at->list = "negatives";
    json_array_foreach(list, at->index, o)
    {
        if (status < 0)
            break;
        status = read_negative(at, o, l, sorted);
    }
    free(sorted);
    return status;
}

static int read_labels(struct place *at, const json_t *root, struct rb_eval_labels *l)
{
    const json_t *traces = json_object_get(root, "traces"), *negatives = json_object_get(root, "negatives"),
                 *o;
    int status = 0;

    if (json_integer_value(json_object_get(root, "version")) != 1)
        return rb_bad_input(at->e, "%s: \"version\": expected 1", at->path);
    if (!json_array_size(traces))
        return rb_bad_input(at->e, "%s: \"traces\": expected a list with at least one trace", at->path);
    if (negatives && !json_is_array(negatives))
        return rb_bad_input(at->e, "%s: \"negatives\": expected a list", at->path);
    l->traces = calloc(json_array_size(traces), sizeof(*l->traces));
    l->programs = calloc(json_array_size(traces), sizeof(*l->programs));
    if (!l->traces || !l->programs)
        return rb_internal(at->e, "out of memory for the labels");
    at->list = "traces";
    json_array_foreach(traces, at->index, o)
    {
        status = read_label(at, o, l);
        if (status < 0)
            return status;
    }
    return read_negatives(at, negatives, l);
}

int rb_eval_labels_load(struct rb_eval_labels *l, const char *dir, struct rb_error *e)
{
    struct place at = {.e = e};
    json_error_t where;
    char *path = NULL;
    int status;

    *l = (struct rb_eval_labels){.dir = strdup(dir)};
    if (!l->dir || asprintf(&path, "%s/labels.json", dir) < 0)
        return rb_internal(e, "out of memory for the labels");
    at.path = path;
    FILE *in = fopen(path, "r");
    json_t *root = in ? json_loadf(in, JSON_REJECT_DUPLICATES, &where) : NULL;
    if (!in)
        status =
            rb_bad_input(e, "%s: cannot open: %m; expected a folder that railbird inject has filled", path);
    else if (!root)
        status = rb_bad_input(e, "%s: line %d: %s", path, where.line, where.text);
    else
        status = read_labels(&at, root, l);
    json_decref(root);
    if (in)
        fclose(in);
    free(path);
    return status;
}

void rb_eval_labels_free(struct rb_eval_labels *l)
{
    for (size_t i = 0; i < l->count; i++) {
        struct rb_eval_label *t = &l->traces[i];
        free(t->file);
        free(t->path);
        free(t->base);
        free(t->variable);
        free(t->kind);
        free(t->threads[0]);
        free(t->threads[1]);
        free(t->negatives);
    }
    for (size_t i = 0; i < l->program_count; i++)
        free(l->programs[i]);
    free(l->programs);
    free(l->traces);
    free(l->dir);
    *l = (struct rb_eval_labels){0};
}
