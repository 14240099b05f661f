// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Theorems as checks. W(x) is the set of accesses at which engine x warns on a trace, without sampling.
// Every violation is a bug in one of the two engines, never a property of the trace.
#include "lab/eval/eval_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE SIZE_MAX

enum form {
    SUBSET,   // W(left) is a subset of W(right)
    FIRST,    // the first element of W(left) is in W(right)
    NEGATIVES // left reports no pair that is labelled as impossible in the whole trace
};

// HB stands for the first of djit, st, su, so that was run, EACH for each of them. SOUND stands for shb and
// syncp.
static const struct rule {
    const char *left, *right;
    enum form form;
    bool locks_only;
    const char *claim;
} rules[] = {
    {"EACH", "HB", SUBSET, false, "djit, st, su and so warn at the same accesses"},
    {"fasttrack", "HB", SUBSET, false, "fasttrack warns only where happens-before has a race"},
    {"shb", "HB", SUBSET, false, "shb warns only where happens-before has a race"},
    {"HB", "wcp", SUBSET, true, "wcp warns wherever happens-before has a race"},
    {"HB", "shb", FIRST, true, "shb warns at the first race of happens-before"},
    {"shb", "syncp", SUBSET, false, "syncp warns wherever shb does"},
    {"SOUND", "SOUND", NEGATIVES, false,
     "shb and syncp report no pair that was proven impossible in its trace"},
};
_Static_assert(RB_LENGTH(rules) == RB_EVAL_RULES, "the header says how many");

void rb_eval_warned_add(struct rb_eval_warned *w, uint64_t event)
{
    if (w->count == w->room) {
        const size_t room = w->room ? 2 * w->room : 16;
        uint64_t *more = realloc(w->at, room * sizeof(*more));
        if (!more) {
            w->out_of_memory = true;
            return;
        }
        w->at = more;
        w->room = room;
    }
    w->at[w->count++] = event;
}

// The uses of an object.
struct use {
    uint32_t first;            // number of its first thread + 1
    uint32_t writing, reading; // open sections
    bool shared;               // by two threads
    bool odd;                  // in another way than a lock, or as a lock in ways that exclude each other
};

static void note_use(struct use *u, const struct rb_event *e)
{
    if (!u->first)
        u->first = e->thread + 1;
    u->shared |= u->first != e->thread + 1;
    switch (e->op) {
    case RB_ACQUIRE:
        u->odd |= u->reading > 0;
        u->writing++;
        break;
    case RB_RD_ACQ:
        u->odd |= u->writing > 0;
        u->reading++;
        break;
    case RB_RELEASE:
        u->writing -= u->writing > 0;
        break;
    case RB_RD_REL:
        u->reading -= u->reading > 0;
        break;
    default:
        u->odd = true;
    }
}

int rb_eval_locks_only(const struct rb_events *t, bool *yes)
{
    struct use *uses = calloc(t->table[RBT_LOCKS] + 1, sizeof(*uses));

    *yes = true;
    if (!uses)
        return -ENOMEM;
    for (uint64_t i = 0; i < t->count; i++)
        if (rb_op_info[t->at[i].op].space == RB_SPACE_LOCK)
            note_use(&uses[t->at[i].target], &t->at[i]);
    for (uint64_t i = 0; i < t->table[RBT_LOCKS]; i++)
        if (uses[i].shared && uses[i].odd)
            *yes = false;
    free(uses);
    return 0;
}

// ---- engines -------------------------------------------------------------------------------------------

static bool is_exact_hb(const char *name)
{
    return !strcmp(name, "djit") || !strcmp(name, "st") || !strcmp(name, "su") || !strcmp(name, "so");
}

// Returns the next detector after `after` (NONE: the first) that a name of the table stands for.
static size_t next_of(const struct rb_eval *v, const char *name, size_t after)
{
    for (size_t d = after == NONE ? 0 : after + 1; d < v->detector_count; d++) {
        const char *own = v->detectors[d].engine->name;
        const bool is = !strcmp(name, "HB") || !strcmp(name, "EACH") ? is_exact_hb(own)
                        : !strcmp(name, "SOUND") ? !strcmp(own, "shb") || !strcmp(own, "syncp")
                                                 : !strcmp(own, name);
        if (v->detectors[d].exact && is)
            return d;
    }
    return NONE;
}

void rb_eval_rules_start(struct rb_eval *v)
{
    for (size_t i = 0; i < RB_EVAL_RULES; i++) {
        const size_t left = next_of(v, rules[i].left, NONE), right = next_of(v, rules[i].right, NONE);
        v->rules[i] =
            (struct rb_eval_rule){.claim = rules[i].claim, .checked = left != NONE && right != NONE};
        if (!strcmp(rules[i].left, "EACH")) // one alone agrees with itself
            v->rules[i].checked = left != NONE && next_of(v, "EACH", left) != NONE;
    }
}

// ---- checks --------------------------------------------------------------------------------------------

// Returns the first of the first `most` events of `a` that is not in `b`; UINT64_MAX: none. Both are
// sorted.
static uint64_t first_missing(const struct rb_eval_warned *a, size_t most, const struct rb_eval_warned *b)
{
    size_t k = 0;

    for (size_t i = 0; i < a->count && i < most; i++) {
        while (k < b->count && b->at[k] < a->at[i])
            k++;
        if (k == b->count || b->at[k] != a->at[i])
            return a->at[i];
    }
    return UINT64_MAX;
}

// Returns the later event of a pair proven impossible that a sound engine has reported; UINT64_MAX: none.
static uint64_t false_alarm(const struct rb_eval *v, size_t trace)
{
    const struct rb_eval_label *label = &v->labels->traces[trace];

    for (size_t d = next_of(v, "SOUND", NONE); d != NONE; d = next_of(v, "SOUND", d))
        for (size_t i = 0; i < label->negative_count; i++)
            if (v->cells[d * v->labels->count + trace].false_alarms[RB_PROOF_TRACE] &&
                label->negatives[i].proof == RB_PROOF_TRACE)
                return label->negatives[i].events[1];
    return UINT64_MAX;
}

static bool has_proven_negative(const struct rb_eval_label *label)
{
    for (size_t i = 0; i < label->negative_count; i++)
        if (label->negatives[i].proof == RB_PROOF_TRACE)
            return true;
    return false;
}

// Returns the event at which the rule is broken; UINT64_MAX: none.
static uint64_t find_violation(const struct rb_eval *v, size_t trace, const struct rule *rule,
                               const struct rb_eval_warned *warned)
{
    if (rule->form == NEGATIVES)
        return false_alarm(v, trace);
    const size_t right = next_of(v, rule->right, NONE);
    uint64_t at = UINT64_MAX;

    for (size_t left = next_of(v, rule->left, NONE); left != NONE && at == UINT64_MAX;
         left = next_of(v, rule->left, left)) {
        at = first_missing(&warned[left], rule->form == FIRST ? 1 : SIZE_MAX, &warned[right]);
        if (at == UINT64_MAX && !strcmp(rule->left, "EACH"))
            at = first_missing(&warned[right], SIZE_MAX, &warned[left]);
        if (strcmp(rule->left, "EACH") != 0)
            break;
    }
    return at;
}

void rb_eval_rules_check(struct rb_eval *v, size_t trace, const struct rb_eval_warned *warned,
                         bool locks_only)
{
    for (size_t i = 0; i < RB_EVAL_RULES; i++) {
        struct rb_eval_rule *r = &v->rules[i];
        if (!r->checked || (rules[i].locks_only && !locks_only) ||
            (rules[i].form == NEGATIVES && !has_proven_negative(&v->labels->traces[trace])))
            continue;
        r->traces++;
        const uint64_t at = find_violation(v, trace, &rules[i], warned);
        if (at == UINT64_MAX)
            continue;
        if (!r->violations++ || trace < r->example_trace) { // traces come in any order
            r->example_trace = trace;
            r->example_event = at;
        }
    }
}
