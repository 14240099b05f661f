// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reports: what a valid record is, the id, merging, the baseline, the sentences.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/report.h"

static json_t *parse(const char *line)
{
    struct rb_error e = {0};
    json_t *record = NULL;

    if (rb_race_parse(line, strlen(line), "here:1", &record, &e) < 0)
        fail_msg("%s: %s", line, e.text);
    return record;
}

// Two top frames; for free(). `a` and `b` are members of a frame's object.
static char *line_of(const char *a, const char *b, const char *more)
{
    char *line;

    assert_true(
        asprintf(
            &line,
            "{%s%s\"accesses\":[{\"op\":\"write\",\"size\":4,\"address\":\"0x10\",\"thread\":1,\"stack\":[{"
            "%s}]},{\"op\":\"read\",\"size\":4,\"address\":\"0x10\",\"thread\":2,\"stack\":[{%s}]}]}",
            more, *more ? "," : "", a, b) > 0);
    return line;
}

static json_t *race(const char *a, const char *b, const char *more)
{
    char *line = line_of(a, b, more);
    json_t *record = parse(line);

    free(line);
    return record;
}

static const char *id_of(const char *a, const char *b, const char *more)
{
    static char ids[4][RB_ID_SIZE]; // of the last four calls
    static unsigned calls;
    char *id = ids[calls++ % 4];
    json_t *record = race(a, b, more);

    rb_race_id(record, id);
    json_decref(record);
    return id;
}

// ---- validation ----------------------------------------------------------------------------------------

#define STACK  "\"stack\":[]"
#define ACCESS "{\"op\":\"read\",\"size\":4,\"address\":\"0x10\",\"thread\":1," STACK "}"

static void refused(void **state)
{
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"{", "f:3: column 1: expected a race as a JSON object"},
        {"[]", "f:3: expected an object, found []"},
        {"{}", "f:3: accesses: expected an array, found nothing"},
        {"{\"accesses\":[]}", "f:3: accesses: expected two, found 0"},
        {"{\"accesses\":[" ACCESS "," ACCESS "," ACCESS "]}", "f:3: accesses: expected two, found 3"},
        {"{\"accesses\":[1," ACCESS "]}", "f:3: accesses[0]: expected an object, found 1"},
        {"{\"accesses\":[" ACCESS ",{\"op\":\"rw\"}]}",
         "f:3: accesses[1].op: expected one of: read write, found \"rw\""},
        {"{\"accesses\":[{\"op\":\"read\"}," ACCESS "]}",
         "f:3: accesses[0].size: expected a whole number, not negative, found nothing"},
        {"{\"accesses\":[{\"op\":\"read\",\"size\":-4}," ACCESS "]}",
         "f:3: accesses[0].size: expected a whole number, not negative, found -4"},
        {"{\"accesses\":[{\"op\":\"read\",\"size\":4,\"address\":\"16\"}," ACCESS "]}",
         "f:3: accesses[0].address: expected a string like \"0x1f\", found \"16\""},
        {"{\"accesses\":[{\"op\":\"read\",\"size\":4,\"address\":\"0x12345678901234567\"}," ACCESS "]}",
         "f:3: accesses[0].address: expected a string like"},
        {"{\"accesses\":[{\"op\":\"read\",\"size\":4,\"address\":\"0x\"}," ACCESS "]}",
         "f:3: accesses[0].address: expected a string like"},
        {"{\"accesses\":[{\"op\":\"read\",\"size\":4,\"address\":\"0x1\",\"thread\":1,\"stack\":[{}]}," ACCESS
         "]}",
         "f:3: accesses[0].stack[0]: expected a module and an offset, or an address, found {}"},
        {"{\"accesses\":[{\"op\":\"read\",\"size\":4,\"address\":\"0x1\",\"thread\":1,\"stack\":[{\"module\":"
         "\"m\"}"
         "]}," ACCESS "]}",
         "f:3: accesses[0].stack[0].offset: expected the offset in the module, found nothing"},
        {"{\"accesses\":[" ACCESS "," ACCESS "],\"evidence\":\"guess\"}",
         "f:3: evidence: expected one of: hb clock collision partial, found \"guess\""},
        {"{\"accesses\":[" ACCESS "," ACCESS "],\"time\":\"now\"}",
         "f:3: time: expected a number, found \"now\""},
        {"{\"accesses\":[" ACCESS "," ACCESS "],\"location\":{\"kind\":\"attic\"}}",
         "f:3: location.kind: expected"},
        {"{\"accesses\":[" ACCESS "," ACCESS
         "],\"location\":{\"kind\":\"heap\",\"stack\":[{\"line\":\"x\"}]}}",
         "f:3: location.stack[0].line: expected"},
        {"{\"accesses\":[" ACCESS "," ACCESS "],\"threads\":[{\"name\":\"x\"}]}",
         "f:3: threads[0].id: expected a whole number, not negative, found nothing"},
        {"{\"accesses\":[" ACCESS "," ACCESS "],\"threads\":[{\"id\":1,\"running\":1}]}",
         "f:3: threads[0].running: expected true or false, found 1"},
    };

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(cases); i++) {
        struct rb_error e = {0};
        json_t *record;
        assert_true(rb_race_parse(cases[i].line, strlen(cases[i].line), "f:3", &record, &e) < 0);
        assert_null(record);
        assert_int_equal(e.fault, RB_FAULT_INPUT);
        if (strncmp(e.text, cases[i].message, strlen(cases[i].message)))
            fail_msg("%s: '%s' instead of '%s'", cases[i].line, e.text, cases[i].message);
    }
}

static void accepted(void **state)
{
    json_t *record = parse("{\"accesses\":[" ACCESS "," ACCESS "],\"later\":{\"key\":1}}");

    (void)state;
    assert_non_null(json_object_get(record, "later")); // what we do not know travels along
    json_decref(record);
    // names of files may have any bytes
    record = parse("{\"accesses\":[" ACCESS "," ACCESS "],\"program\":\"/a\xff/b\"}");
    assert_string_equal(rb_member_text(record, "program"), "/a?/b");
    json_decref(record);
    assert_true(rb_race_line_is_whole("{\"a\":1}", 7));
    assert_false(rb_race_line_is_whole("{\"a\":1", 6));
    assert_false(rb_race_line_is_whole("{\"a\":\"x", 7));
}

// ---- id ------------------------------------------------------------------------------------------------

#define X "\"module\":\"/bin/x\",\"build_id\":\"ab12\",\"offset\":\"0x1000\""
#define Y "\"module\":\"/lib/y.so\",\"build_id\":\"cd34\",\"offset\":\"0x2000\""

static void ids(void **state)
{
    const char *id = id_of(X, Y, "");

    (void)state;
    assert_int_equal(strlen(id), 16);
    assert_int_equal(strspn(id, "0123456789abcdef"), 16);
    assert_string_equal(id, "38b98897cb683769"); // as docs/reference/reports.md computes it; a change breaks baselines
    assert_string_equal(id, id_of(Y, X, ""));
    assert_string_equal(id, id_of(X, Y, "\"evidence\":\"collision\",\"pid\":7,\"host\":\"h\",\"time\":5"));
    // elsewhere on disk, but the same build
    assert_string_equal(id,
                        id_of("\"module\":\"/tmp/z\",\"build_id\":\"AB12\",\"offset\":\"0x01000\"", Y, ""));
    // names do not matter, nor that they are there
    assert_string_equal(id, id_of(X ",\"function\":\"f\",\"file\":\"f.c\",\"line\":3", Y, ""));
    assert_string_not_equal(id, id_of("\"module\":\"/bin/x\",\"build_id\":\"ab12\",\"offset\":\"0x1001\"", Y,
                                      ""));
    assert_string_not_equal(id, id_of("\"module\":\"/bin/x\",\"build_id\":\"ab13\",\"offset\":\"0x1000\"", Y,
                                      ""));
    assert_string_not_equal(id_of(X, X, ""), id_of(X, Y, ""));
    assert_string_not_equal(id_of(X, X, ""), id_of(Y, Y, ""));
    // without a build-id the file's own name stands for it
    assert_string_equal(id_of("\"module\":\"/a/x\",\"offset\":\"0x10\"", Y, ""),
                        id_of("\"module\":\"/b/x\",\"build_id\":\"\",\"offset\":\"0x10\"", Y, ""));
    assert_string_not_equal(id_of("\"module\":\"/a/x\",\"offset\":\"0x10\"", Y, ""),
                            id_of("\"module\":\"/a/w\",\"offset\":\"0x10\"", Y, ""));
    assert_string_not_equal(id_of("\"address\":\"0x10\"", Y, ""), id_of("\"address\":\"0x20\"", Y, ""));
}

// Only the top frame counts, and the address of the data does not.
static void ids_ignore_the_rest(void **state)
{
    static const char *const lines[] = {
        "{\"accesses\":[{\"op\":\"write\",\"size\":4,\"address\":\"0x7f10\",\"thread\":1,\"stack\":[{" X
        "},{" Y "}]},{\"op\":\"read\",\"size\":8,\"address\":\"0x7f10\",\"thread\":9,\"stack\":[{" Y "}]}]}",
        "{\"accesses\":[{\"op\":\"read\",\"size\":8,\"address\":\"0x5510\",\"thread\":3,\"stack\":[{" Y
        "},{" Y "}]},{\"op\":\"write\",\"size\":4,\"address\":\"0x5510\",\"thread\":2,\"stack\":[{" X "}]}]}",
    };

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(lines); i++) {
        json_t *record = parse(lines[i]);
        char id[RB_ID_SIZE];
        rb_race_id(record, id);
        assert_string_equal(id, id_of(X, Y, ""));
        json_decref(record);
    }
}

// ---- merging -------------------------------------------------------------------------------------------

static void add(struct rb_race_list *races, const char *a, const char *b, const char *more)
{
    struct rb_error e = {0};

    assert_int_equal(rb_race_list_add(races, race(a, b, more), &e), 0);
}

static void merging(void **state)
{
    struct rb_race_list races;
    json_t *object, *again;
    struct rb_error e = {0};

    (void)state;
    rb_race_list_init(&races);
    add(&races, X, Y, "\"time\":20.5,\"pid\":1,\"host\":\"a\",\"evidence\":\"hb\",\"sampler\":\"first\"");
    add(&races, X, X, "\"time\":1,\"pid\":1,\"host\":\"a\"");
    add(&races, Y, X, "\"time\":10,\"pid\":2,\"host\":\"a\",\"evidence\":\"clock\",\"sampler\":\"second\"");
    add(&races, X, Y, "\"time\":30,\"pid\":1,\"host\":\"b\",\"control\":{\"suppressions\":\"x\"}");
    assert_int_equal(races.count, 2);
    assert_int_equal(races.race[0].count, 3);
    assert_int_equal(races.race[1].count, 1);
    assert_true(races.race[0].first_time == 10 && races.race[0].last_time == 30);
    assert_int_equal(json_array_size(races.race[0].sets[RB_SET_PIDS]), 2);
    assert_int_equal(json_array_size(races.race[0].sets[RB_SET_HOSTS]), 2);
    assert_int_equal(json_array_size(races.race[0].sets[RB_SET_EVIDENCES]), 2);
    assert_string_equal(rb_member_text(races.race[0].record, "sampler"), "first");
    assert_ptr_equal(rb_race_list_find(&races, id_of(Y, X, "")), &races.race[0]);
    assert_null(rb_race_list_find(&races, "0000000000000000"));

    // what was merged can be merged again
    object = rb_report_race_json(&races.race[0], false);
    assert_non_null(object);
    assert_int_equal(rb_race_list_add(&races, json_deep_copy(object), &e), 0);
    assert_int_equal(races.count, 2);
    assert_int_equal(races.race[0].count, 6);
    assert_true(races.race[0].first_time == 10 && races.race[0].last_time == 30);
    assert_int_equal(json_array_size(races.race[0].sets[RB_SET_PIDS]), 2);
    rb_race_list_free(&races);

    rb_race_list_init(&races);
    assert_int_equal(rb_race_list_add(&races, json_incref(object), &e), 0);
    again = rb_report_race_json(&races.race[0], false);
    assert_true(json_equal(object, again));
    assert_null(json_object_get(again, "control"));
    json_decref(again);
    json_decref(object);
    rb_race_list_free(&races);
}

static void many(void **state)
{
    struct rb_race_list races;

    (void)state;
    rb_race_list_init(&races);
    for (unsigned i = 0; i < 3000; i++) {
        char frame[96], more[48];
        snprintf(frame, sizeof(frame), "\"module\":\"/bin/x\",\"offset\":\"0x%x\"", 1 + i % 1000);
        snprintf(more, sizeof(more), "\"pid\":%u", i);
        add(&races, frame, Y, more);
    }
    assert_int_equal(races.count, 1000);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(races.race[i].count, 3);
    for (unsigned i = 0; i < 2 * RB_SET_LIMIT; i++) {
        char more[48];
        snprintf(more, sizeof(more), "\"pid\":%u", i);
        add(&races, X, Y, more);
    }
    assert_int_equal(races.race[1000].count, 2 * RB_SET_LIMIT);
    add(&races, X, Y, "\"count\":9223372036854775807");
    assert_true(races.race[1000].count == INT64_MAX);
    assert_int_equal(json_array_size(races.race[1000].sets[RB_SET_PIDS]), RB_SET_LIMIT);
    rb_race_list_free(&races);
}

// ---- baseline ------------------------------------------------------------------------------------------

#define NAMED(build, offset, function, line)                                                              \
    "\"module\":\"/bin/x\",\"build_id\":\"" build "\",\"offset\":\"" offset "\",\"function\":\"" function \
    "\",\"file\":\"/src/x.c\",\"function_line\":10,\"line\":" line

static size_t news(const char *known, const char *a, const char *b)
{
    struct rb_baseline baseline;
    struct rb_race_list races;
    struct rb_error e = {0};
    size_t count;

    assert_int_equal(rb_baseline_init(&baseline, &e), 0);
    if (rb_baseline_add(&baseline, known, strlen(known), "base:1", &e) < 0)
        fail_msg("%s", e.text);
    rb_race_list_init(&races);
    add(&races, a, b, "");
    count = rb_baseline_mark(&baseline, &races);
    assert_int_equal(races.race[0].is_new, count);
    rb_race_list_free(&races);
    rb_baseline_free(&baseline);
    return count;
}

static void baselines(void **state)
{
    char *known = line_of(NAMED("aa", "0x1", "f", "12"), NAMED("aa", "0x2", "g", "15"), ""), bare[64];

    (void)state;
    // the same two instructions
    assert_int_equal(news(known, NAMED("aa", "0x2", "g", "15"), NAMED("aa", "0x1", "f", "12")), 0);
    // another instruction of the same build is another race, also on the same line
    assert_int_equal(news(known, NAMED("aa", "0x3", "f", "12"), NAMED("aa", "0x2", "g", "15")), 1);
    // built anew, the same lines of the same functions
    assert_int_equal(news(known, NAMED("bb", "0x7", "f", "12"), NAMED("bb", "0x9", "g", "15")), 0);
    assert_int_equal(news(known, NAMED("bb", "0x7", "g", "15"), NAMED("bb", "0x9", "f", "12")), 0);
    // built anew, another line or function
    assert_int_equal(news(known, NAMED("bb", "0x1", "f", "13"), NAMED("bb", "0x2", "g", "15")), 1);
    assert_int_equal(news(known, NAMED("bb", "0x1", "h", "12"), NAMED("bb", "0x2", "g", "15")), 1);
    // without names only the id speaks
    assert_int_equal(news(known, "\"module\":\"/bin/x\",\"build_id\":\"bb\",\"offset\":\"0x1\"",
                          NAMED("bb", "0x2", "g", "15")),
                     1);
    snprintf(bare, sizeof(bare), "{\"id\":\"%s\"}", id_of(X, Y, ""));
    assert_int_equal(news(bare, X, Y), 0);
    assert_int_equal(news(bare, X, X), 1);
    free(known);
}

// The same function further down in its file is the same place.
static void source_ids(void **state)
{
    char here[RB_ID_SIZE], there[RB_ID_SIZE];
    json_t *record = race(NAMED("aa", "0x1", "f", "12"), NAMED("aa", "0x2", "g", "15"), ""), *moved;

    (void)state;
    assert_true(rb_race_source_id(record, here));
    moved = race("\"module\":\"/bin/x\",\"offset\":\"0x77\",\"function\":\"f\",\"file\":\"/other/x.c\","
                 "\"function_line\":110,\"line\":112",
                 NAMED("cc", "0x2", "g", "15"), "");
    assert_true(rb_race_source_id(moved, there));
    assert_string_equal(here, there);
    json_decref(record);
    json_decref(moved);
    record = race(X, NAMED("aa", "0x2", "g", "15"), "");
    assert_false(rb_race_source_id(record, here));
    assert_string_equal(here, "");
    json_decref(record);
}

// ---- words ---------------------------------------------------------------------------------------------

static void expect(char *words, const char *wanted)
{
    if (wanted)
        assert_string_equal(words, wanted);
    else
        assert_null(words);
    free(words);
}

static void sentences(void **state)
{
    json_t *record =
        race("\"module\":\"/bin/x\",\"offset\":\"0x12\",\"build_id\":\"ab\",\"function\":\"f(int)\","
             "\"file\":\"/s/f.cc\",\"line\":3,\"column\":7",
             "\"address\":\"0x77\"",
             "\"threads\":[{\"id\":1,\"name\":\"w\",\"os_id\":5,\"running\":false,\"created_by\":0},"
             "{\"id\":2,\"created_by\":1}]");
    const json_t *threads = json_object_get(record, "threads");

    (void)state;
    expect(rb_words_access(record, 0), "Write of size 4 at 0x000000000010 by thread T1 'w'");
    expect(rb_words_access(record, 1), "Previous read of size 4 at 0x000000000010 by thread T2");
    json_object_set_new(json_array_get(json_object_get(record, "accesses"), 0), "atomic", json_true());
    expect(rb_words_access(record, 0), "Atomic write of size 4 at 0x000000000010 by thread T1 'w'");
    expect(rb_words_thread(record, 0), "main thread");
    expect(rb_words_creation(record, json_array_get(threads, 0)),
           "Thread T1 'w' (tid=5, finished) created by main thread");
    expect(rb_words_creation(record, json_array_get(threads, 1)), "Thread T2 created by thread T1 'w'");
    expect(rb_words_frame(rb_race_top(record, 0), false), "f(int) /s/f.cc:3:7 (x+0x12)");
    expect(rb_words_frame(rb_race_top(record, 0), true), "f(int) /s/f.cc:3:7 (x+0x12) (BuildId: ab)");
    expect(rb_words_frame(rb_race_top(record, 1), false), "<null> <null> (0x000000000077)");
    expect(rb_words_summary(record, false), "data race /s/f.cc:3 in f(int)");
    expect(rb_words_location(record), NULL);
    json_decref(record);
}

static void locations(void **state)
{
    static const struct {
        const char *location, *words;
    } cases[] = {
        {"{\"kind\":\"unknown\"}", NULL},
        {"{\"kind\":\"stack\",\"thread\":1}", "Location is stack of thread T1"},
        {"{\"kind\":\"tls\",\"thread\":0}", "Location is TLS of main thread"},
        {"{\"kind\":\"fd\",\"fd\":5,\"thread\":0}", "Location is file descriptor 5 created by main thread"},
        {"{\"kind\":\"heap\",\"address\":\"0x8\",\"size\":40}",
         "Location is heap block of size 40 at 0x000000000008"},
        {"{\"kind\":\"heap\",\"address\":\"0x8\",\"size\":40,\"thread\":3}",
         "Location is heap block of size 40 at 0x000000000008 allocated by thread T3"},
        {"{\"kind\":\"global\",\"module\":\"/bin/x\",\"offset\":\"0x4040\"}",
         "Location is global memory at 0x000000000010 (x+0x4040)"},
        {"{\"kind\":\"global\",\"module\":\"/bin/x\",\"offset\":\"0x4044\",\"name\":\"v\",\"name_offset\":4,"
         "\"size\":8}",
         "Location is global 'v' of size 8 at 0x00000000000c (x+0x4040), 4 bytes into it"},
    };

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(cases); i++) {
        char more[256];
        snprintf(more, sizeof(more), "\"location\":%s", cases[i].location);
        json_t *record = race(X, Y, more);
        expect(rb_words_location(record), cases[i].words);
        json_decref(record);
    }
}

// Names from the program must not reach the terminal as commands.
static void text_is_clean(void **state)
{
    json_t *record = race(X ",\"function\":\"f\\u001b[2J\\ng\"", Y, "\"sampler\":\"a\\tb\"");
    struct rb_error e = {0};
    struct rb_race one;
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    (void)state;
    assert_int_equal(rb_race_single(&one, record, &e), 0);
    rb_report_race_text(out, &one, false, false);
    fclose(out);
    assert_non_null(strstr(text, "#0 f?[2J?g <null>"));
    assert_null(strchr(text, '\033'));
    assert_null(strchr(text, '\t'));
    free(text);
    rb_race_free(&one);
    json_decref(record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused),       cmocka_unit_test(accepted),
        cmocka_unit_test(ids),           cmocka_unit_test(ids_ignore_the_rest),
        cmocka_unit_test(merging),       cmocka_unit_test(many),
        cmocka_unit_test(baselines),     cmocka_unit_test(source_ids),
        cmocka_unit_test(sentences),     cmocka_unit_test(locations),
        cmocka_unit_test(text_is_clean),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
