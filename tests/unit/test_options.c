// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The runtime's options: where a value ends, what is taken, what is complained of and how, and that nothing
// written in RAILBIRD_OPTIONS leads out of bounds.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/options.h"
#include "base/rng.h"

static char said[4096];
static unsigned lines;

static void say(void *context, const char *line)
{
    (void)context;
    lines++;
    for (const char *c = line; *c; c++)
        assert_true((unsigned char)*c >= ' ' && *c != 127);
    snprintf(said, sizeof(said), "%s", line);
}

static const char *expected(void *context, enum rb_option option, const char *value)
{
    (void)context;
    if (option == RB_OPT_engine)
        return strcmp(value, "so") && strcmp(value, "su") ? "one of: so su" : NULL;
    return strchr(value, '!') ? "no '!'" : NULL;
}

static const struct rb_options_host host = {NULL, say, expected};

// The options `text` gives, without a complaint.
static struct rb_options good(const char *text)
{
    struct rb_options o;

    rb_options_init(&o);
    said[0] = 0;
    const unsigned complaints = rb_options_parse(&o, text, "T", &host);
    assert_string_equal(said, "");
    assert_int_equal(complaints, 0);
    return o;
}

// One complaint, this one; everything else stays as it was.
static void bad(const char *text, const char *complaint)
{
    struct rb_options o, untouched;

    rb_options_init(&o);
    rb_options_init(&untouched);
    lines = 0;
    assert_int_equal(rb_options_parse(&o, text, "T", &host), 1);
    assert_int_equal(lines, 1);
    assert_string_equal(said, complaint);
    assert_memory_equal(&o, &untouched, sizeof(o));
}

static void defaults(void **state)
{
    const struct rb_options o = good("");

    (void)state;
    assert_string_equal(o.sampler, "adaptive");
    assert_string_equal(o.engine, "so");
    assert_int_equal(o.budget, 50000);
    assert_int_equal(o.memory, 64 << 20);
    assert_true(o.report);
    assert_string_equal(o.report_json, "");
    assert_string_equal(o.log_path, "");
    assert_int_equal(o.exitcode, 66);
    assert_false(o.halt_on_error);
    assert_false(o.stats);
    assert_int_equal(o.stack_depth, 32);
    assert_int_equal(o.given, 0);
    for (int i = 0; i < RB_OPTIONS; i++)
        assert_true(rb_option_info[i].help[0]);
}

static void pairs(void **state)
{
    (void)state;
    for (const char *const *t =
             (const char *const[]){"seed=7:exitcode=3", "seed=7 exitcode=3", " :seed=7: \n\texitcode=3:: ",
                                   "exitcode=9:seed=7:exitcode=3", "seed=\"7\":exitcode='3'", NULL};
         *t; t++) {
        const struct rb_options o = good(*t);
        assert_int_equal(o.seed, 7);
        assert_int_equal(o.exitcode, 3);
        assert_int_equal(o.given, 1u << RB_OPT_seed | 1u << RB_OPT_exitcode);
    }
}

// A colon or blank ends a value only where a pair begins behind it.
static void value_ends(void **state)
{
    struct rb_options o = good("sampler=random:0.03:seed=5");

    (void)state;
    assert_string_equal(o.sampler, "random:0.03");
    assert_int_equal(o.seed, 5);
    o = good("sampler=rpt:0.1,0.1:stats=1");
    assert_string_equal(o.sampler, "rpt:0.1,0.1");
    assert_true(o.stats);
    o = good("report=json:/tmp/a b:c.json seed=1");
    assert_string_equal(o.report_json, "/tmp/a b:c.json");
    assert_false(o.report);
    assert_int_equal(o.seed, 1);
    o = good("report=text,json:x:y:exitcode=0");
    assert_string_equal(o.report_json, "x:y");
    assert_true(o.report);
    o = good("log_path='/tmp/a:seed=3':seed=4");
    assert_string_equal(o.log_path, "/tmp/a:seed=3");
    assert_int_equal(o.seed, 4);
    o = good("log_path=\"it's\"");
    assert_string_equal(o.log_path, "it's");
    o = good("log_path=it's:seed=2"); // a quote inside is a letter
    assert_string_equal(o.log_path, "it's");
    o = good("log_path=:seed=2");
    assert_string_equal(o.log_path, "");
    assert_int_equal(o.seed, 2);
    o = good("log_path=/tmp/x::"); // separators at the end are nobody's
    assert_string_equal(o.log_path, "/tmp/x");
    o = good("log_path=/tmp/A=b:Seed=2"); // no name: capital letter
    assert_string_equal(o.log_path, "/tmp/A=b:Seed=2");
}

static void values(void **state)
{
    static const struct {
        const char *text;
        uint64_t millionths;
    } shares[] = {{"budget=5%", 50000},   {"budget=0.05", 50000},  {"budget=0", 0},
                  {"budget=1", 1000000},  {"budget=2.5%", 25000},  {"budget=150%", 1500000},
                  {"budget=0.000001", 1}, {"budget=0.00000199", 1}};
    static const struct {
        const char *text;
        uint64_t bytes;
    } sizes[] = {{"memory=1048576", 1 << 20}, {"memory=2M", 2 << 20},
                 {"memory=2048k", 2 << 20},   {"memory=3G", 3ull << 30},
                 {"memory=1T", 1ull << 40},   {"memory=9223372036854775807", INT64_MAX}};

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(shares); i++)
        assert_int_equal(good(shares[i].text).budget, shares[i].millionths);
    for (size_t i = 0; i < RB_LENGTH(sizes); i++)
        assert_int_equal(good(sizes[i].text).memory, sizes[i].bytes);
    assert_true(good("halt_on_error=1").halt_on_error);
    assert_true(good("halt_on_error=true").halt_on_error);
    assert_false(good("halt_on_error=1:halt_on_error=no").halt_on_error);
    assert_false(good("report=none").report);
    assert_true(good("report=none:report=text").report);
    assert_string_equal(good("report=json:a:report=text").report_json, "");
    assert_string_equal(good("stats=json:s").stats_json, "s");
    assert_true(good("stats=1,json:s").stats);
}

static void complaints(void **state)
{
    char text[128];

    (void)state;
    bad("sampel=all", "T: 'sampel' is not an option; did you mean 'sampler'?");
    bad("exit_code=1", "T: 'exit_code' is not an option; did you mean 'exitcode'?");
    bad("halt-on-error=1", "T: 'halt-on-error' is not an option; did you mean 'halt_on_error'?");
    bad("sede=1", "T: 'sede' is not an option; did you mean 'seed'?"); // two swapped letters
    bad("quixotic=1", "T: 'quixotic' is not an option; expected one of: sampler engine budget seed memory "
                      "report log_path suppressions exitcode halt_on_error atexit_sleep_ms stats record looks stack_depth watch "
                      "max_reports report_bugs strict verbose unseen unseen_hooks partial");
    bad("=1", "T: '' is not an option; expected one of: sampler engine budget seed memory report log_path "
              "suppressions exitcode halt_on_error atexit_sleep_ms stats record looks stack_depth watch max_reports report_bugs "
              "strict verbose unseen unseen_hooks partial");
    bad("stats", "T: stats: expected key=value");
    bad("engine=vector", "T: engine=vector: expected one of: so su");
    bad("sampler=a!", "T: sampler=a!: expected no '!'");
    bad("sampler=", "T: sampler=: expected a word");
    bad("engine=aaaaaaaaaaaaaaaa", "T: engine=aaaaaaaaaaaaaaaa: expected something shorter");
    bad("unseen=no", "T: unseen=no: expected order or ignore");
    bad("partial=2", "T: partial=2: expected list or report");
    bad("exitcode=256", "T: exitcode=256: expected a whole number from 0 to 255");
    bad("exitcode=-1", "T: exitcode=-1: expected a whole number from 0 to 255");
    bad("exitcode=", "T: exitcode=: expected a whole number from 0 to 255");
    bad("stack_depth=0", "T: stack_depth=0: expected a whole number from 1 to 256");
    bad("seed=18446744073709551616", "T: seed=18446744073709551616: expected a whole number from 0 to "
                                     "9223372036854775807");
    bad("exitcode=1 junk", "T: exitcode=1 junk: expected a whole number from 0 to 255");
    bad("memory=1k", "T: memory=1k: expected a size of at least 1M, as 512k, 64M or 1G");
    bad("memory=99999999999T", "T: memory=99999999999T: expected a size of at least 1M, as 512k, 64M or 1G");
    bad("memory=M", "T: memory=M: expected a size of at least 1M, as 512k, 64M or 1G");
    for (const char *const *v =
             (const char *const[]){"5", "1.1", "-1", ".5", "5.", "%", "1e2", "2000%", NULL};
         *v; v++) {
        char complaint[160];
        snprintf(text, sizeof(text), "budget=%s", *v);
        snprintf(complaint, sizeof(complaint), "T: budget=%s: expected a share, as 5%% or 0.05", *v);
        bad(text, complaint);
    }
    bad("report=json", "T: report=json: expected text, json:FILE, text,json:FILE or none");
    bad("report=json:", "T: report=json: expected text, json:FILE, text,json:FILE or none");
    bad("report=textjson:a", "T: report=textjson:a: expected text, json:FILE, text,json:FILE or none");
    bad("stats=2", "T: stats=2: expected 0, 1 or json:FILE");
    bad("log_path='a", "T: log_path=a: the quote is not closed");
    bad("log_path='a'b", "T: log_path=a: expected ':' behind the quote");
    bad("watch=maybe\x1b\n", "T: watch=maybe?: expected 0 or 1");
}

// A complaint does not keep the other pairs from being taken, and long ones fit.
static void goes_on(void **state)
{
    static char text[3 * RB_OPTION_PATH];
    struct rb_options o;

    (void)state;
    rb_options_init(&o);
    assert_int_equal(rb_options_parse(&o, "seed=x:exitcode=5:junk stats=1", "T", &host), 2);
    assert_int_equal(o.exitcode, 66); // its value was "5:junk"
    assert_true(o.stats);
    for (int fill = RB_OPTION_PATH - 2; fill <= RB_OPTION_PATH + 2; fill++) {
        const int n = snprintf(text, sizeof(text), "log_path=");
        memset(text + n, 'x', (size_t)fill);
        snprintf(text + n + fill, 16, ":seed=1");
        rb_options_init(&o);
        const unsigned wrong = rb_options_parse(&o, text, "T", &host);
        assert_int_equal(wrong, fill >= RB_OPTION_PATH);
        assert_int_equal(strlen(o.log_path), wrong ? 0 : fill);
        assert_int_equal(o.seed, 1);
    }
    memset(text, 'k', sizeof(text) - 1);
    text[RB_OPTION_PATH] = '=';
    assert_int_equal(rb_options_parse(&o, text, "T", &host), 1);
}

static void tsan(void **state)
{
    struct rb_options o = good("");

    (void)state;
    assert_int_equal(rb_options_parse_tsan(&o,
                                           "suppressions=/a/b,halt_on_error=1:exitcode=3 log_path='x:y',atexit_sleep_ms=7 "
                                           "history_size=7:second_deadlock_stack=1",
                                           &host),
                     0);
    assert_string_equal(o.suppressions, "/a/b");
    assert_true(o.halt_on_error);
    assert_int_equal(o.exitcode, 3);
    assert_string_equal(o.log_path, "x:y");
    assert_int_equal(o.atexit_sleep_ms, 7);
    assert_int_equal(o.given, 0);
    o = good("exitcode=9");
    rb_options_parse_tsan(&o, "exitcode=3:report_bugs=0", &host);
    assert_int_equal(o.exitcode, 9);
    assert_false(o.report);
    o = good("");
    rb_options_parse_tsan(&o, "exitcode=3:report_bugs=0", &host);
    assert_int_equal(o.exitcode, 0);
    o = good("report=text");
    rb_options_parse_tsan(&o, "report_bugs=0:stats=1", &host);
    assert_true(o.report);
    assert_false(o.stats); // TSan's word, not ours
    lines = 0;
    assert_int_equal(rb_options_parse_tsan(&o, "exitcode=much:nonsense", &host), 1);
    assert_string_equal(said, "TSAN_OPTIONS: exitcode=much: expected a whole number from 0 to 255");
}

// Pieces of options put together at random: only that it ends, stays in bounds and counts what it says.
static void random_text(void **state)
{
    static const char *const pieces[] = {"seed",   "=",   ":", " ", "report",  "json:", "text,",
                                         "'",      "\"",  "x", "5", "%",       ".",     "budget",
                                         "memory", "64M", "_", "-", "stats=1", "\n",    ","};
    struct rb_rng rng;

    (void)state;
    rb_rng_seed(&rng, 11);
    for (int round = 0; round < 20000; round++) {
        char *text = calloc(1, 256);
        struct rb_options o;
        const unsigned n = (unsigned)(rb_rng_next(&rng) % 16);

        assert_non_null(text);
        for (unsigned i = 0; i < n; i++)
            strcat(text, pieces[rb_rng_next(&rng) % RB_LENGTH(pieces)]);
        text = realloc(text, strlen(text) + 1); // so that reading past the end is seen by ASan
        assert_non_null(text);
        rb_options_init(&o);
        lines = 0;
        unsigned complained = rb_options_parse(&o, text, "T", &host);
        complained += rb_options_parse_tsan(&o, text, &host);
        assert_int_equal(complained, lines);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults), cmocka_unit_test(pairs),       cmocka_unit_test(value_ends),
        cmocka_unit_test(values),   cmocka_unit_test(complaints),  cmocka_unit_test(goes_on),
        cmocka_unit_test(tsan),     cmocka_unit_test(random_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
