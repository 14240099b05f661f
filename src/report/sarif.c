// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Static Analysis Results Interchange Format 2.1.0 (OASIS), as far as a race needs it: one run, one rule,
// one result for each race. The location of a result is the later access. The earlier access and everything
// else with a place are related locations. The two call paths to the race are a code flow with two threads,
// and all stacks are stacks.
//
// Names of files below the current folder are relative to it, so that a service with the same tree finds
// them; others are absolute. Memory is checked in one place, at the end: a failed jansson call gives NULL,
// every later call refuses NULL, and `broken` is set.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/cause.h"
#include "report/race_record.h"
#include "report/report.h"

#define SCHEMA "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
#define ROOT   "SRCROOT"
#define STYLE  (JSON_COMPACT | JSON_REAL_PRECISION(15))

// Services take 10 MB at most. Beyond the first limit results have no stacks; beyond the second they are
// only counted.
#define FULL_BYTES  ((size_t)4 << 20)
#define MOST_BYTES  ((size_t)9 << 20)
#define MOST_NAMED  20u // other races of a cause
#define MOST_FRAMES 40u // of a stack, innermost first

struct sarif {
    char *root; // the current folder, with a '/' at its end; NULL if it is not known
    bool broken, has_baseline;
    bool brief; // results without stacks
};

static void set_member(struct sarif *s, json_t *object, const char *key, json_t *value)
{
    s->broken |= json_object_set_new(object, key, value) < 0;
}

static void append_item(struct sarif *s, json_t *array, json_t *value)
{
    s->broken |= json_array_append_new(array, value) < 0;
}

// Makes a message. Frees the words.
static json_t *make_message(struct sarif *s, char *words)
{
    json_t *object = json_object();

    set_member(s, object, "text", words ? rb_json_text(words) : NULL);
    free(words);
    return object;
}

// ---- places --------------------------------------------------------------------------------------------

// Removes "." and ".." from an absolute name: consumers compare names as text.
static void normalize_path(char *path)
{
    char *to = path;

    for (const char *from = path; *from;) {
        const size_t n = 1 + strcspn(from + 1, "/"); // "/" and a name
        if (n == 1 || (n == 2 && from[1] == '.')) {
            from += n;
        } else if (n == 3 && from[1] == '.' && from[2] == '.') {
            while (to > path && *--to != '/')
                ;
            from += n;
        } else {
            memmove(to, from, n);
            to += n;
            from += n;
        }
    }
    *to = 0;
}

// Returns the path percent-encoded; for free().
static char *encode_uri(const char *path, bool absolute)
{
    static const char hex[] = "0123456789ABCDEF";
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/+@,";
    char *text = malloc(3 * strlen(path) + sizeof("file://")), *to = text;

    if (!text)
        return NULL;
    to += absolute ? sprintf(to, "file://") : 0;
    for (; *path; path++) {
        if (strchr(plain, *path)) {
            *to++ = *path;
        } else {
            *to++ = '%';
            *to++ = hex[(unsigned char)*path >> 4];
            *to++ = hex[(unsigned char)*path & 15];
        }
    }
    *to = 0;
    return text;
}

static json_t *make_artifact(struct sarif *s, const char *file)
{
    json_t *object = json_object();
    char *path = strdup(file), *text = NULL;
    const size_t root = s->root ? strlen(s->root) : 0;

    if (path && *path == '/')
        normalize_path(path);
    if (path && root > 1 && !strncmp(path, s->root, root) && path[root]) {
        text = encode_uri(path + root, false);
        set_member(s, object, "uriBaseId", json_string(ROOT));
    } else if (path) {
        text = encode_uri(path, *path == '/');
    }
    set_member(s, object, "uri", text ? json_string(text) : NULL);
    free(path);
    free(text);
    return object;
}

static json_t *make_region(struct sarif *s, const json_t *place)
{
    json_t *object = json_object();

    set_member(s, object, "startLine", json_integer(rb_member_int(place, "line")));
    if (rb_member_int(place, "column"))
        set_member(s, object, "startColumn", json_integer(rb_member_int(place, "column")));
    return object;
}

// Makes the physical location of a frame or of a variable's definition: a file and a line, else a module
// and an offset, else an address.
static json_t *make_physical(struct sarif *s, const json_t *place)
{
    const char *file = rb_member_text(place, "file"), *module = rb_member_text(place, "module");
    json_t *object = json_object();

    if (file) {
        set_member(s, object, "artifactLocation", make_artifact(s, file));
        if (rb_member_int(place, "line"))
            set_member(s, object, "region", make_region(s, place));
    } else if (module) {
        set_member(s, object, "artifactLocation", make_artifact(s, module));
        set_member(s, object, "address",
                   json_pack("{s:I}", "relativeAddress", (json_int_t)rb_member_hex(place, "offset")));
    } else {
        const uint64_t address = rb_member_hex(place, "address");
        set_member(s, object, "address",
                   json_pack("{s:I}", "absoluteAddress", (json_int_t)(address <= INT64_MAX ? address : 0)));
    }
    return object;
}

// Makes a location with a message, unless `words` is NULL. Frees the words.
static json_t *make_location(struct sarif *s, const json_t *frame, char *words)
{
    const char *function = rb_member_text(frame, "function");
    json_t *object = json_object();

    set_member(s, object, "physicalLocation", make_physical(s, frame));
    if (function)
        set_member(s, object, "logicalLocations",
                   json_pack("[{s:s, s:s}]", "fullyQualifiedName", function, "kind", "function"));
    if (words)
        set_member(s, object, "message", make_message(s, words));
    return object;
}

// ---- stacks --------------------------------------------------------------------------------------------

static void add_stack(struct sarif *s, json_t *stacks, const json_t *stack, char *words)
{
    json_t *frames = json_array(), *object;
    const json_t *frame;
    size_t i;

    if (!json_array_size(stack)) {
        json_decref(frames);
        free(words);
        return;
    }
    json_array_foreach(stack, i, frame)
    {
        const char *module = rb_member_text(frame, "module");
        json_t *one;
        if (i == MOST_FRAMES)
            break;
        one = json_object();
        set_member(s, one, "location", make_location(s, frame, NULL));
        if (module)
            set_member(s, one, "module", json_string(rb_base_name(module)));
        append_item(s, frames, one);
    }
    object = json_object();
    set_member(s, object, "message", make_message(s, words));
    set_member(s, object, "frames", frames);
    append_item(s, stacks, object);
}

static json_t *make_stacks(struct sarif *s, const json_t *record)
{
    const json_t *of = json_object_get(record, "location"), *entry;
    json_t *stacks = json_array();
    size_t i;

    json_array_foreach(json_object_get(record, "accesses"), i, entry)
        add_stack(s, stacks, json_object_get(entry, "stack"), rb_words_access(record, i));
    if (json_array_size(json_object_get(of, "stack")))
        add_stack(s, stacks, json_object_get(of, "stack"), rb_words_location(record));
    json_array_foreach(json_object_get(record, "threads"), i, entry)
        add_stack(s, stacks, json_object_get(entry, "stack"), rb_words_creation(record, entry));
    return stacks;
}

// Makes the call path of each thread to its access, from the outermost frame; the earlier access comes
// first.
static json_t *make_code_flows(struct sarif *s, const json_t *record)
{
    const json_t *accesses = json_object_get(record, "accesses");
    json_t *threads = json_array(), *flow = json_object(), *flows = json_array();

    for (size_t i = 2; i-- > 0;) {
        const json_t *access = json_array_get(accesses, i), *stack = json_object_get(access, "stack");
        const size_t all = json_array_size(stack), depth = all < MOST_FRAMES ? all : MOST_FRAMES;
        json_t *steps = json_array(), *thread = json_object();
        char id[32];
        for (size_t k = depth; k-- > 0;) {
            const json_t *frame = json_array_get(stack, k);
            char *words = k == 0 ? rb_words_access(record, i) : rb_words_frame(frame, false);
            json_t *step = json_object();
            set_member(s, step, "location", make_location(s, frame, words));
            set_member(s, step, "nestingLevel", json_integer((json_int_t)(depth - 1 - k)));
            set_member(s, step, "importance", json_string(k == 0 ? "essential" : "important"));
            append_item(s, steps, step);
        }
        if (!depth) { // a flow has at least one step
            json_decref(steps);
            json_decref(thread);
            continue;
        }
        snprintf(id, sizeof(id), "T%" JSON_INTEGER_FORMAT, rb_member_int(access, "thread"));
        set_member(s, thread, "id", json_string(id));
        set_member(s, thread, "locations", steps);
        append_item(s, threads, thread);
    }
    if (json_array_size(threads)) {
        set_member(s, flow, "threadFlows", threads);
        append_item(s, flows, flow);
    } else {
        json_decref(threads);
        json_decref(flow);
    }
    return flows;
}

// ---- results -------------------------------------------------------------------------------------------

static void add_related(struct sarif *s, json_t *related, const json_t *place, char *words)
{
    json_t *one;

    if (!place) {
        free(words);
        return;
    }
    one = make_location(s, place, words);
    set_member(s, one, "id", json_integer((json_int_t)json_array_size(related) + 1));
    append_item(s, related, one);
}

static json_t *make_related(struct sarif *s, const json_t *record)
{
    const json_t *of = json_object_get(record, "location"), *thread;
    json_t *related = json_array();
    size_t i;

    add_related(s, related, rb_race_top(record, 1), rb_words_access(record, 1));
    if (json_object_get(of, "file"))
        add_related(s, related, of, rb_words_location(record));
    else
        add_related(s, related, json_array_get(json_object_get(of, "stack"), 0), rb_words_location(record));
    json_array_foreach(json_object_get(record, "threads"), i, thread)
        add_related(s, related, json_array_get(json_object_get(thread, "stack"), 0),
                    rb_words_creation(record, thread));
    return related;
}

// Adds the places of the other races of the cause.
static void add_other_races(struct sarif *s, json_t *related, const struct rb_group *g)
{
    for (size_t i = 0; i < g->count && i < MOST_NAMED; i++)
        add_related(s, related, rb_race_top(g->others[i]->record, 0), rb_words_pair(g->others[i]->record));
}

static json_t *make_headline(struct sarif *s, const json_t *record)
{
    char *now = rb_words_access(record, 0), *before = rb_words_access(record, 1),
         *what = rb_words_location(record), *place[2], *text = NULL;

    for (size_t i = 0; i < 2; i++)
        place[i] = rb_words_place(rb_race_top(record, i), false, false);
    if (asprintf(&text, "Data race. %s%s%s. %s%s%s.%s%s%s", now ? now : "", place[0] ? " in " : "",
                 place[0] ? place[0] : "", before ? before : "", place[1] ? " in " : "",
                 place[1] ? place[1] : "", what ? " " : "", what ? what : "", what ? "." : "") < 0)
        text = NULL;
    free(now);
    free(before);
    free(what);
    free(place[0]);
    free(place[1]);
    return make_message(s, text);
}

static json_t *make_result(struct sarif *s, const struct rb_group *g)
{
    const struct rb_race *race = g->shown;
    const json_t *record = race->record, *top = rb_race_top(record, 0);
    const char *sampler = rb_member_text(record, "sampler");
    json_t *object = json_object(), *prints = json_object(), *bag = json_object(), *places = json_array();
    const bool weak = rb_member_text(record, "candidate") || rb_race_is_partial(record);

    set_member(s, object, "ruleId", json_string("data-race"));
    set_member(s, object, "ruleIndex", json_integer(0));
    set_member(s, object, "level", json_string(weak ? "warning" : "error"));
    set_member(s, object, "message", make_headline(s, record));
    if (top)
        append_item(s, places, make_location(s, top, rb_words_access(record, 0)));
    set_member(s, object, "locations", places);
    json_t *related = make_related(s, record);
    add_other_races(s, related, g);
    set_member(s, object, "relatedLocations", related);
    if (!s->brief) {
        set_member(s, object, "codeFlows", make_code_flows(s, record));
        set_member(s, object, "stacks", make_stacks(s, record));
    }
    set_member(s, prints, "railbirdRace/v1", json_string(race->id));
    if (*race->source_id)
        set_member(s, prints, "railbirdSource/v1", json_string(race->source_id));
    set_member(s, object, "partialFingerprints", prints);
    set_member(s, object, "occurrenceCount", json_integer(g->seen > 0 ? g->seen : 1));
    if (s->has_baseline)
        set_member(s, object, "baselineState", json_string(race->is_new ? "new" : "unchanged"));
    set_member(s, bag, "evidence", json_string(rb_words_evidence(record)));
    if (json_object_get(record, "unseen"))
        set_member(s, bag, "unseen", json_incref(json_object_get(record, "unseen")));
    if (sampler)
        set_member(s, bag, "sampler", json_string(sampler));
    set_member(s, bag, "cause", json_string(race->cause));
    if (g->count)
        set_member(s, bag, "morePlaces", json_integer((json_int_t)g->count));
    set_member(s, bag, "hosts", json_incref(race->sets[RB_SET_HOSTS]));
    set_member(s, bag, "pids", json_incref(race->sets[RB_SET_PIDS]));
    set_member(s, object, "properties", bag);
    return object;
}

// ---- log -----------------------------------------------------------------------------------------------

static json_t *make_tool(const char *version)
{
    return json_pack(
        "{s:{s:s, s:s, s:[{s:s, s:s, s:{s:s}, s:{s:s}, s:{s:s}, s:{s:s}, s:{s:[s, s], s:s}}]}}", "driver",
        "name", "Railbird", "version", version, "rules", "id", "data-race", "name", "DataRace",
        "shortDescription", "text", "Data race", "fullDescription", "text",
        "Two threads access the same memory, at least one of them writes, and nothing orders the two "
        "accesses.",
        "help", "text",
        "In C and C++ a data race is undefined behaviour. Hold the same lock around both accesses, make them "
        "atomic, or order them by other synchronisation.",
        "defaultConfiguration", "level", "error", "properties", "tags", "concurrency", "correctness",
        "precision", "very-high");
}

static json_t *make_root(struct sarif *s)
{
    json_t *object = json_object(), *base = json_object();
    char *text = encode_uri(s->root, true);

    set_member(s, base, "uri", text ? json_string(text) : NULL);
    set_member(s, object, ROOT, base);
    free(text);
    return object;
}

// Adds as many results as there is room for. Returns the number of results left out.
static size_t add_results(struct sarif *s, json_t *results, const struct rb_groups *groups)
{
    size_t bytes = 0;

    for (size_t i = 0; i < groups->count; i++) {
        s->brief = bytes > FULL_BYTES;
        json_t *one = make_result(s, &groups->group[i]);
        bytes += json_dumpb(one, NULL, 0, STYLE) + 1;
        if (bytes > MOST_BYTES) {
            json_decref(one);
            return groups->count - i;
        }
        append_item(s, results, one);
    }
    return 0;
}

static json_t *make_invocation(struct sarif *s, size_t left_out)
{
    json_t *object = json_pack("{s:b}", "executionSuccessful", 1);
    char *words = NULL;

    if (left_out && asprintf(&words, "%zu causes of races are left out, because services refuse larger files",
                             left_out) > 0) {
        json_t *notes = json_array(), *one = json_object();
        set_member(s, one, "level", json_string("warning"));
        set_member(s, one, "message", make_message(s, words));
        append_item(s, notes, one);
        set_member(s, object, "toolExecutionNotifications", notes);
    }
    return object;
}

int rb_report_sarif(FILE *out, const struct rb_report *report, struct rb_error *e)
{
    struct rb_groups groups;
    struct sarif s = {.has_baseline = report->has_baseline};

    if (rb_groups_make(&groups, report->races, false, e) < 0)
        return -1;
    char *folder = getcwd(NULL, 0);
    json_t *log = json_object(), *run = json_object(), *runs = json_array(), *results = json_array(),
           *invocations = json_array();

    if (folder && strcmp(folder, "/") && asprintf(&s.root, "%s/", folder) < 0)
        s.root = NULL;
    free(folder);
    append_item(&s, invocations, make_invocation(&s, add_results(&s, results, &groups)));
    set_member(&s, run, "tool", make_tool(report->version));
    set_member(&s, run, "invocations", invocations);
    if (s.root)
        set_member(&s, run, "originalUriBaseIds", make_root(&s));
    set_member(&s, run, "columnKind", json_string("unicodeCodePoints"));
    set_member(&s, run, "results", results);
    append_item(&s, runs, run);
    set_member(&s, log, "$schema", json_string(SCHEMA));
    set_member(&s, log, "version", json_string("2.1.0"));
    set_member(&s, log, "runs", runs);
    if (!s.broken) {
        json_dumpf(log, out, STYLE); // the caller checks the stream for errors
        fputc('\n', out);
    }
    json_decref(log);
    free(s.root);
    rb_groups_free(&groups);
    return s.broken ? rb_internal(e, "out of memory for SARIF") : 0;
}
