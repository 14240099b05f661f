// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What walks and rules remember: exactly what a new walk would see, whatever happened to the memory in
// between.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "unwind_cfi.h"
#include "unwind_walks.h"

// ---- stacks that were never called ---------------------------------------------------------------------

#define FAKE_BYTES 65536
#define POOL       600

static struct {
    uintptr_t lo, hi;
    uintptr_t pool[POOL];
    struct rb_unwind_frame frame[200];
    unsigned frames;
} fake;

static void put(uintptr_t at, uintptr_t value)
{
    if (at >= fake.lo && at < fake.hi && at % 8 == 0)
        memcpy((void *)at, &value, 8);
}

static uintptr_t any_word(struct rb_rng *rng)
{
    switch (rb_rng_below(rng, 4)) {
    case 0:
        return fake.pool[rb_rng_below(rng, POOL)];
    case 1:
        return fake.lo + rb_rng_below(rng, FAKE_BYTES / 8) * 8;
    case 2:
        return rb_rng_next(rng) >> rb_rng_below(rng, 64);
    default:
        return 0;
    }
}

static void make_fake(struct rb_rng *rng)
{
    char *memory = mmap(NULL, FAKE_BYTES + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(memory, MAP_FAILED);
    assert_int_equal(mprotect(memory + 4096, FAKE_BYTES, PROT_READ | PROT_WRITE), 0);
    fake.lo = (uintptr_t)memory + 4096;
    fake.hi = fake.lo + FAKE_BYTES;
    for (unsigned i = 0; i < POOL;) {
        const struct entry e = random_entry(rng);
        const uintptr_t pc = e.begin + rb_rng_below(rng, e.size ? e.size : 1) + 1;
        const uint64_t rule = rb_unwind_rule(pc);
        const enum rb_rule_kind kind = rb_rule_kind(rule);
        // many that can be followed, all kinds, and not only frames found by rsp
        if (i % 10 == 0 ||
            (kind >= RB_RULE_CFA && rb_rule_cfa_at(rule) < 400 && (i % 3 || rb_rule_from_bp(rule))))
            fake.pool[i++] = pc;
    }
}

// Builds frames from *f outwards as calls would have left them, by the rules of the pcs that are drawn.
static void build(struct rb_rng *rng, struct rb_unwind_frame f)
{
    const struct rb_unwind_bounds bounds = {fake.lo, fake.hi};

    while (fake.frames < RB_LENGTH(fake.frame)) {
        const uint64_t rule = rb_unwind_rule(f.pc);
        const uintptr_t at = (rb_rule_from_bp(rule) ? f.bp : f.sp) + rb_rule_cfa_at(rule);
        uintptr_t cfa = at;
        fake.frame[fake.frames++] = f;
        if (rb_rule_kind(rule) == RB_RULE_DEREF || rb_rule_kind(rule) == RB_RULE_SIGNAL) {
            cfa = (f.sp + 8 * rb_rng_below(rng, 40)) & ~(uintptr_t)7;
            put(at, cfa - rb_rule_add(rule));
        }
        put(rb_rule_kind(rule) == RB_RULE_SIGNAL ? at + RB_SIGNAL_PC : cfa - 8,
            fake.pool[rb_rng_below(rng, POOL)]);
        if (rb_rule_bp(rule) == RB_RULE_BP_AT_CFA)
            put(cfa + rb_rule_bp_at(rule), (cfa + 8 * rb_rng_below(rng, 100)) & ~(uintptr_t)7);
        if (!rb_unwind_step(&f, rule, &bounds))
            break;
    }
}

// The walk that remembers must see what a new one sees, whatever happened to the memory in between.
void walks_of_garbage(void **state)
{
    uint64_t frames = 0, most = 0;
    struct rb_walk *w = &walk, *v = &fresh;
    struct rb_rng rng;

    (void)state;
    rb_rng_seed(&rng, 21);
    make_fake(&rng);
    w->stack_lo = v->stack_lo = fake.lo;
    w->stack_hi = v->stack_hi = fake.hi;
    for (unsigned round = 0; round < 200000; round++) {
        if (round % 400 == 0)
            for (uintptr_t at = fake.lo; at < fake.hi; at += 8)
                put(at, any_word(&rng));
        if (round % 8 == 0 || fake.frames == 0) { // other calls: from some frame that is there, inwards
            const unsigned keep = fake.frames ? (unsigned)rb_rng_below(&rng, fake.frames) : 0;
            struct rb_unwind_frame f = {fake.pool[rb_rng_below(&rng, POOL)],
                                        fake.lo + 8 * rb_rng_below(&rng, FAKE_BYTES / 16), any_word(&rng)};
            if (keep && rb_rng_below(&rng, 4)) {
                f = fake.frame[keep];
                f.pc = fake.pool[rb_rng_below(&rng, POOL)];
            }
            fake.frames = 0;
            build(&rng, f);
        }
        struct rb_unwind_frame top = fake.frame[rb_rng_below(&rng, fake.frames < 6 ? fake.frames : 6)];
        const uint64_t changes = rb_rng_below(&rng, 3);
        for (uint64_t i = 0; i < changes; i++)
            put((top.sp & ~(uintptr_t)7) + 8 * rb_rng_below(&rng, 300), any_word(&rng));
        if (rb_rng_below(&rng, 4) == 0)
            top.bp = any_word(&rng);
        if (rb_rng_below(&rng, 16) == 0)
            top.sp = any_word(&rng);
        const unsigned depth = 1 + (unsigned)rb_rng_below(&rng, RB_STACK_DEPTH);
        const rb_stack s = rb_stack_from(w, &top, depth);
        forget_walk(v);
        const rb_stack again = rb_stack_from(v, &top, depth);
        assert_true(s != 0 && s == again);
        frames += v->frames;
        most = v->frames > most ? v->frames : most;
        if (rb_stack_count() > TABLE / 40) {
            rb_stack_reset();
            assert_int_equal(rb_stack_count(), 0);
        }
    }
    print_message("%.1f frames a stack, at most %u\n", (double)frames / 200000, (unsigned)most);
    assert_true(frames > 200000 * 3);
    own_stack(w);
    own_stack(v);
}

// ---- what is remembered --------------------------------------------------------------------------------

static void poison(uintptr_t pc, uint64_t rule)
{
    rb_unwind_slot(pc)->rule = rule;
    rb_unwind_slot(pc)->mixed = rb_unwind_key(pc, rb_unwind_generation()) ^ rb_unwind_spread(rule);
}

// The innermost frame is the same for all who look through here.
RB_NOINLINE static void look_here(void)
{
    look();
    __asm__ volatile("");
}

static unsigned frames_seen(void)
{
    uintptr_t pcs[RB_STACK_DEPTH];

    return rb_stack_frames(seen.s, pcs, RB_STACK_DEPTH);
}

// Outer frames' rules are not asked for again; what a new walk would see is the yardstick's stack all the
// same.
void walks_remembered(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        forget_walk(&walk);
        look_here();
        const unsigned whole = frames_seen();
        assert_true(whole > 3);
        assert_int_equal(whole, seen.real);
        poison(seen.expected[2], RB_RULE_STOP); // this function's caller
        look_here();
        assert_int_equal(frames_seen(), whole);
        forget_walk(&walk);
        look_here();
        assert_int_equal(frames_seen(), 3);
        rb_unwind_forget();
    }
}

// Nor is the call frame information, until told to forget; for as many times as one likes.
void rules_forgotten(void **state)
{
    (void)state;
    look_here();
    const uintptr_t pc = seen.expected[1];
    const uint64_t rule = rb_unwind_rule(pc);
    assert_int_equal(rb_rule_kind(rule), RB_RULE_CFA);
    for (unsigned i = 0; i < 65536 + 5; i++) {
        poison(pc, RB_RULE_STOP);
        assert_int_equal(rb_unwind_rule(pc), RB_RULE_STOP);
        rb_unwind_forget();
        assert_int_equal(rb_unwind_rule(pc), rule);
    }
    look_here();
    assert_int_equal(frames_seen(), seen.real);
}

// Many threads, more pcs than slots: nobody gets another pc's rule.
#define RULES 200000
static struct {
    uintptr_t pc;
    uint64_t rule;
} rules[RULES];

static void *ask_rules(void *seed)
{
    struct rb_rng rng;
    uintptr_t wrong = 0;

    rb_rng_seed(&rng, (uintptr_t)seed);
    for (unsigned i = 0; i < 400000; i++) {
        const unsigned k = (unsigned)rb_rng_below(&rng, RULES);
        wrong += rb_unwind_rule(rules[k].pc) != rules[k].rule;
    }
    return (void *)wrong;
}

// A slot caught between the two words of a writer: the rule of one pc, the other word of another.
static void mixed_up(void)
{
    static unsigned last[1u << RB_UNWIND_SLOTS_LOG2]; // of each slot, + 1
    unsigned pairs = 0;

    for (unsigned i = 0; i < RULES; i++) {
        struct rb_unwind_slot *slot = rb_unwind_slot(rules[i].pc);
        const unsigned other = last[slot - rb_unwind_slots];
        last[slot - rb_unwind_slots] = i + 1;
        if (!other || rules[other - 1].rule == rules[i].rule)
            continue;
        poison(rules[other - 1].pc, rules[other - 1].rule);
        slot->rule = rules[i].rule;
        assert_int_equal(rb_unwind_rule(rules[other - 1].pc), rules[other - 1].rule);
        poison(rules[i].pc, rules[i].rule);
        slot->rule = rules[other - 1].rule;
        assert_int_equal(rb_unwind_rule(rules[i].pc), rules[i].rule);
        pairs++;
    }
    assert_true(pairs > 1000);
}

// Two pcs that share a pair of slots are both known: what is there is shown by a rule that the bytes do not
// have.
static void two_share_a_pair(void)
{
    static unsigned last[1u << RB_UNWIND_SLOTS_LOG2];
    const uint64_t sign = RB_RULE_STOP;
    unsigned pairs = 0;

    for (unsigned i = 0; i < RULES; i++) {
        const uintptr_t pc = rules[i].pc;
        const unsigned other = last[rb_unwind_slot(pc) - rb_unwind_slots];
        last[rb_unwind_slot(pc) - rb_unwind_slots] = i + 1;
        if (!other || rules[other - 1].pc == pc || rules[other - 1].rule == sign)
            continue;
        poison(rules[other - 1].pc, sign);
        assert_int_equal(rb_unwind_rule_slow(pc, rb_unwind_key(pc, rb_unwind_generation())), rules[i].rule);
        assert_int_equal(rb_unwind_rule(pc), rules[i].rule);
        assert_int_equal(rb_unwind_rule(rules[other - 1].pc), sign);
        rb_unwind_forget();
        pairs++;
    }
    assert_true(pairs > 1000);
}

void rules_of_threads(void **state)
{
    pthread_t thread[4];
    struct rb_rng rng;

    (void)state;
    rb_rng_seed(&rng, 31);
    for (unsigned i = 0; i < RULES; i++) {
        const struct entry e = random_entry(&rng);
        rules[i].pc = e.begin + rb_rng_below(&rng, e.size ? e.size : 1) + 1;
        rules[i].rule = rb_unwind_rule_slow(rules[i].pc, rb_unwind_key(rules[i].pc, rb_unwind_generation()));
    }
    mixed_up();
    two_share_a_pair();
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, ask_rules, (void *)i), 0);
    for (unsigned i = 0; i < 4; i++) {
        void *wrong;
        pthread_join(thread[i], &wrong);
        assert_null(wrong);
    }
}
