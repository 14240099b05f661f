// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rules between engines: each one must see a violation that is planted, and must not see one where there
// is none.
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lab/eval/eval_private.h"

enum { DJIT, SO, FASTTRACK, SHB, WCP, SYNCP, ENGINES };

struct world {
    struct rb_eval v;
    struct rb_eval_labels labels;
    struct rb_eval_label label;
    struct rb_eval_negative negative;
    struct rb_eval_detector detectors[ENGINES];
    struct rb_eval_cell cells[ENGINES];
    struct rb_eval_warned warned[ENGINES];
};

// All engines warn at 10 and 20, which breaks no rule.
static void make_world(struct world *w)
{
    static const char *const names[ENGINES] = {"djit", "so", "fasttrack", "shb", "wcp", "syncp"};

    *w = (struct world){.label.file = (char *)"a.rbt"};
    w->labels.traces = &w->label;
    w->labels.count = 1;
    w->v.labels = &w->labels;
    w->v.detectors = w->detectors;
    w->v.detector_count = ENGINES;
    w->v.cells = w->cells;
    for (int i = 0; i < ENGINES; i++) {
        w->detectors[i] =
            (struct rb_eval_detector){.engine = rb_lab_engine_find(names[i]), .exact = true, .runs = 1};
        assert_non_null(w->detectors[i].engine);
        rb_eval_warned_add(&w->warned[i], 10);
        rb_eval_warned_add(&w->warned[i], 20);
    }
    rb_eval_rules_start(&w->v);
}

static void free_world(struct world *w)
{
    for (int i = 0; i < ENGINES; i++)
        free(w->warned[i].at);
}

static uint64_t violations(const struct world *w)
{
    uint64_t n = 0;

    for (int i = 0; i < RB_EVAL_RULES; i++)
        n += w->v.rules[i].violations;
    return n;
}

static const struct rb_eval_rule *broken(const struct world *w)
{
    for (int i = 0; i < RB_EVAL_RULES; i++)
        if (w->v.rules[i].violations)
            return &w->v.rules[i];
    fail_msg("no rule is broken");
    return NULL;
}

static void agreement_breaks_nothing(void **state)
{
    struct world w;

    (void)state;
    make_world(&w);
    rb_eval_rules_check(&w.v, 0, w.warned, true);
    assert_int_equal(violations(&w), 0);
    for (int i = 0; i + 1 < RB_EVAL_RULES; i++) {
        assert_true(w.v.rules[i].checked);
        assert_int_equal(w.v.rules[i].traces, 1);
    }
    rb_eval_rules_check(&w.v, 0, w.warned, false); // two of them speak of traces with locks only
    uint64_t spoken = 0;
    for (int i = 0; i < RB_EVAL_RULES; i++)
        spoken += w.v.rules[i].traces;
    assert_int_equal(spoken, 2 * 6 - 2);
    free_world(&w);
}

// What an engine may say more than the others without breaking a rule, and what not.
static void each_rule_sees_its_violation(void **state)
{
    static const struct {
        int engine;
        bool adds; // warns at 30 too; else not at 20, or, with `first`, not at 10
        bool first;
        uint64_t expected;
        const char *claim; // of the rule broken
    } cases[] = {
        {DJIT, true, false, 2, "djit, st"}, // also: wcp misses what the first of them found
        {SO, true, false, 1, "djit, st"},
        {FASTTRACK, true, false, 1, "fasttrack"},
        {SHB, true, false, 2, "shb warns only"}, // and syncp lacks it
        {WCP, true, false, 0, NULL},
        {SYNCP, true, false, 0, NULL},
        {FASTTRACK, false, false, 0, NULL},
        {SHB, false, false, 0, NULL},
        {SHB, false, true, 1, "shb warns at the first"},
        {WCP, false, false, 1, "wcp warns wherever"},
        {SYNCP, false, false, 1, "syncp warns wherever"},
        {SYNCP, false, true, 1, "syncp warns wherever"},
    };

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(cases); i++) {
        struct world w;
        make_world(&w);
        struct rb_eval_warned *changed = &w.warned[cases[i].engine];
        if (cases[i].adds) {
            rb_eval_warned_add(changed, 30);
        } else {
            if (cases[i].first)
                changed->at[0] = changed->at[1];
            changed->count = 1;
        }
        rb_eval_rules_check(&w.v, 0, w.warned, true);
        assert_int_equal(violations(&w), cases[i].expected);
        if (cases[i].expected) {
            assert_non_null(strstr(broken(&w)->claim, cases[i].claim));
            assert_int_equal(broken(&w)->example_event, cases[i].adds ? 30 : cases[i].first ? 10 : 20);
        }
        free_world(&w);
    }
}

static void false_alarms_of_sound_engines(void **state)
{
    struct world w;

    (void)state;
    make_world(&w);
    w.negative = (struct rb_eval_negative){.events = {5, 20}, .proof = RB_PROOF_TRACE};
    w.label.negatives = &w.negative;
    w.label.negative_count = 1;
    rb_eval_rules_check(&w.v, 0, w.warned, true);
    assert_int_equal(violations(&w), 0);
    w.cells[WCP].false_alarms[RB_PROOF_TRACE] = 1; // wcp promises nothing behind its first race
    w.cells[SYNCP].false_alarms[RB_PROOF_WINDOW] = 1;
    rb_eval_rules_check(&w.v, 0, w.warned, true);
    assert_int_equal(violations(&w), 0);
    w.cells[SYNCP].false_alarms[RB_PROOF_TRACE] = 1;
    rb_eval_rules_check(&w.v, 0, w.warned, true);
    assert_int_equal(violations(&w), 1);
    assert_int_equal(broken(&w)->example_event, 20);
    free_world(&w);
}

static bool locks_only(const struct rb_event *events, uint64_t count)
{
    struct rb_events t = {.at = (struct rb_event *)events, .count = count, .table = {4, 4, 4, 4, 4, 4}};
    bool yes;

    assert_int_equal(rb_eval_locks_only(&t, &yes), 0);
    return yes;
}

static void objects_that_are_no_locks(void **state)
{
    const struct rb_event plain[] = {{.op = RB_ACQUIRE},
                                     {.op = RB_RELEASE},
                                     {.op = RB_RD_ACQ, .thread = 1},
                                     {.op = RB_RD_REL, .thread = 1},
                                     {.op = RB_WRITE, .thread = 1}},
                          own[] = {{.op = RB_STORE},
                                   {.op = RB_LOAD},
                                   {.op = RB_ACQUIRE, .target = 1, .thread = 1}},
                          shared[] = {{.op = RB_STORE}, {.op = RB_LOAD, .thread = 1}},
                          mixed[] = {{.op = RB_ACQUIRE, .thread = 1},
                                     {.op = RB_RELEASE, .thread = 1},
                                     {.op = RB_POST}},
                          both_ways[] = {{.op = RB_RD_ACQ}, {.op = RB_ACQUIRE, .thread = 1}};

    (void)state;
    assert_true(locks_only(plain, RB_LENGTH(plain)));
    assert_true(locks_only(own, RB_LENGTH(own)));
    assert_false(locks_only(shared, RB_LENGTH(shared)));
    assert_false(locks_only(mixed, RB_LENGTH(mixed)));
    assert_false(locks_only(both_ways, RB_LENGTH(both_ways)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agreement_breaks_nothing),
        cmocka_unit_test(each_rule_sees_its_violation),
        cmocka_unit_test(false_alarms_of_sound_engines),
        cmocka_unit_test(objects_that_are_no_locks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
