// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The index of the counterexamples: labels.json in each engine's folder, and one index.json over all of
// them. labels.json has the form that `railbird inject` writes, so that the folder can be evaluated and
// verified again.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "lab/eval/eval_counter.h"
#include "report/page.h"

char *rb_eval_counter_stem(const struct rb_eval *v, const struct rb_eval_counter *c)
{
    const char *file = v->labels->traces[c->trace].file, *slash = strrchr(file, '/');
    const char *name = slash ? slash + 1 : file, *dot = strrchr(name, '.');

    return strndup(name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}

static json_t *joined_json(const char *before, const char *middle, const char *after)
{
    char *joined = NULL, *clean = NULL;
    json_t *s = NULL;

    if (middle && asprintf(&joined, "%s%s%s", before, middle, after) >= 0) {
        clean = rb_utf8(joined);
        s = clean ? json_string(clean) : NULL;
    }
    free(clean);
    free(joined);
    return s;
}

static json_t *count_json(uint64_t v)
{
    return json_integer((json_int_t)v);
}

static json_t *label_json(const struct rb_eval *v, const struct rb_eval_counter *c)
{
    const struct rb_eval_label *l = &v->labels->traces[c->trace];
    const char kind[] = {c->op[0] == RB_WRITE ? 'w' : 'r', c->op[1] == RB_WRITE ? 'w' : 'r', 0};
    char *stem = rb_eval_counter_stem(v, c);
    json_t *o =
        json_pack("{s:o, s:o, s:o, s:s, s:[o, o], s:[o, o], s:o, s:o}", "file", joined_json("", stem, ".rbt"),
                  "base", joined_json("", stem, ".base.rbt"), "program",
                  joined_json("", v->labels->programs[l->program], ""), "kind", kind, "events",
                  count_json(c->events[0]), count_json(c->events[1]), "threads",
                  joined_json("", c->threads[0], ""), joined_json("", c->threads[1], ""), "variable",
                  joined_json("", l->variable, ""), "distance", count_json(c->events[1] - c->events[0] - 1));
    free(stem);
    return o;
}

static json_t *entry_json(const struct rb_eval *v, const struct rb_eval_counter *c)
{
    const char *engine = v->detectors[c->detector].name;
    char *stem = rb_eval_counter_stem(v, c), folder[80];

    snprintf(folder, sizeof(folder), "%s/", engine);
    json_t *o = json_pack("{s:s, s:o, s:o, s:o, s:o, s:[o, o], s:o, s:o, s:b, s:o, s:f}", "detector", engine,
                          "file", joined_json(folder, stem, ".rbt"), "text",
                          joined_json(folder, stem, ".std"), "base", joined_json(folder, stem, ".base.rbt"),
                          "from", joined_json("", v->labels->traces[c->trace].file, ""), "events",
                          count_json(c->events[0]), count_json(c->events[1]), "events_before",
                          count_json(c->before), "events_after", count_json(c->after), "minimal", c->minimal,
                          "tests", count_json(c->tests), "seconds", c->seconds);
    free(stem);
    return o;
}

struct page {
    json_t *object;
};

static void write_object(FILE *out, void *context)
{
    const struct page *p = context;

    json_dumpf(p->object, out, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
    putc('\n', out);
}

static int write_json(json_t *object, const char *dir, const char *folder, const char *name,
                      struct rb_error *e)
{
    char *path = NULL;
    int status;

    if (!object || asprintf(&path, "%s/%s/%s", dir, folder, name) < 0)
        status = rb_internal(e, "out of memory for %s", name);
    else
        status = rb_html_write("--counterexamples", path, write_object, &(struct page){object}, e);
    json_decref(object);
    free(path);
    return status;
}

int rb_eval_counters_index(const struct rb_eval *v, const struct rb_eval_counters *c, const char *dir,
                           struct rb_error *e)
{
    json_t *all = json_array(), *unproven = json_array();
    int status = 0, bad = 0;

    for (size_t i = 0; i < c->count; i++) {
        const struct rb_eval_counter *k = &c->list[i];
        if (k->unproven)
            bad |= json_array_append_new(unproven,
                                         json_pack("{s:s, s:o}", "detector", v->detectors[k->detector].name,
                                                   "from",
                                                   joined_json("", v->labels->traces[k->trace].file, "")));
        else
            bad |= json_array_append_new(all, entry_json(v, k));
    }
    for (size_t d = 0; d < v->detector_count && status == 0; d++) {
        json_t *labels = json_array();
        for (size_t i = 0; i < c->count; i++)
            if (c->list[i].detector == d && !c->list[i].unproven)
                bad |= json_array_append_new(labels, label_json(v, &c->list[i]));
        if (v->detectors[d].exact)
            status = write_json(json_pack("{s:i, s:s, s:O, s:[]}", "version", 1, "tool", "railbird eval",
                                          "traces", labels, "negatives"),
                                dir, v->detectors[d].name, "labels.json", e);
        json_decref(labels);
    }
    if (bad)
        status = rb_internal(e, "out of memory for index.json");
    json_t *index = json_pack("{s:i, s:s, s:o, s:o}", "version", 1, "tool", "railbird eval",
                              "counterexamples", all, "unproven", unproven);
    if (status == 0)
        return write_json(index, dir, ".", "index.json", e);
    json_decref(index);
    return status;
}

// ---- in a few words ------------------------------------------------------------------------------------

struct summary {
    uint64_t written, unproven, minimal, before, after, largest;
    double seconds;
};

static struct summary summarize_engine(const struct rb_eval_counters *c, size_t detector)
{
    struct summary s = {0};

    for (size_t i = 0; i < c->count; i++) {
        const struct rb_eval_counter *k = &c->list[i];
        if (k->detector != detector)
            continue;
        s.unproven += k->unproven;
        s.seconds += k->seconds;
        if (k->unproven)
            continue;
        s.written++;
        s.minimal += k->minimal;
        s.before += k->before;
        s.after += k->after;
        if (k->after > s.largest)
            s.largest = k->after;
    }
    return s;
}

void rb_eval_counters_text(FILE *out, const struct rb_eval *v, const struct rb_eval_counters *c)
{
    fputs("\nCounterexamples:\n", out);
    for (size_t d = 0; d < v->detector_count; d++) {
        const struct summary s = summarize_engine(c, d);
        if (!v->detectors[d].exact)
            continue;
        fprintf(out, "  %s: %" PRIu64 " written", v->detectors[d].name, s.written);
        if (s.written)
            fprintf(out,
                    ", %.0f events each made %.1f (at most %" PRIu64 "); %" PRIu64 " as small as they go",
                    (double)s.before / (double)s.written, (double)s.after / (double)s.written, s.largest,
                    s.minimal);
        if (s.unproven)
            fprintf(out, "; %" PRIu64 " left out: the verifier does not take them", s.unproven);
        putc('\n', out);
    }
}

json_t *rb_eval_counters_json(const struct rb_eval *v, const struct rb_eval_counters *c)
{
    json_t *list = json_array();
    int bad = 0;

    for (size_t d = 0; d < v->detector_count; d++) {
        const struct summary s = summarize_engine(c, d);
        if (v->detectors[d].exact)
            bad |= json_array_append_new(list,
                                         json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:f}", "detector",
                                                   v->detectors[d].name, "written", count_json(s.written),
                                                   "unproven", count_json(s.unproven), "minimal",
                                                   count_json(s.minimal), "events_before",
                                                   count_json(s.before), "events_after", count_json(s.after),
                                                   "largest", count_json(s.largest), "seconds", s.seconds));
    }
    if (bad) {
        json_decref(list);
        return NULL;
    }
    return list;
}
