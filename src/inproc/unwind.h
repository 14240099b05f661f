// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Walks the current thread's stack, from a frame to its caller's, by call frame information. Code without
// frame pointers, the compilers' default, has no other description of its frames.
//
// A rule is a function of the pc alone, so rules are kept in one table for all threads, indexed by a hash
// of the pc. Each hash has a pair of slots, so that two places of hot code with one hash do not evict each
// other. A slot is two words: the rule, and the key mixed with the rule. A reader may catch a slot between
// the two stores of a writer, or two writers may cross each other. The reader then gets a key that is not
// its own, and reads the call frame information again; no thread waits. The key also has the low 16 bits of
// the generation, so rb_unwind_forget invalidates all slots.
//
// Async-signal-safe; errno is left alone; no locks, no allocation.
#ifndef RB_INPROC_UNWIND_H
#define RB_INPROC_UNWIND_H

#include "inproc/unwind_rule.h"

#pragma GCC visibility push(hidden)

#define RB_UNWIND_SLOTS_LOG2 15

// The section of the runtime's function from which a thread's own function is called. Stacks end before it.
#define RB_THREAD_BASE "rb_thread_base"

// A frame as its callee's return leaves it. `pc` is a return address, below 2^47: the running instruction
// is at pc - 1. If a signal, not a call, interrupted the frame, its pc is the address of its next
// instruction plus one. So this holds for it too.
struct rb_unwind_frame {
    uintptr_t pc, sp;
    uintptr_t bp; // 0 when it is not known
};

// The readable part of the stack. The same for all frames of a walk; hi >= 8.
struct rb_unwind_bounds {
    uintptr_t lo, hi;
};

// The words that a step from a frame reads; 0 for words that it does not read. If these are unchanged, and
// the frame is (its bp only if rb_unwind_uses_bp), then the outcome of the step is unchanged.
struct rb_unwind_reads {
    uintptr_t cfa_at, pc_at, bp_at;
};

struct rb_unwind_slot {
    uint64_t mixed, rule;
};
extern struct rb_unwind_slot rb_unwind_slots[1u << RB_UNWIND_SLOTS_LOG2];
extern uint64_t rb_unwind_generation_now;

// Invalidates all rules, because objects were unloaded. To be called when dlclose returns.
void rb_unwind_forget(void);

// Grows with each rb_unwind_forget.
RB_INLINE uint64_t rb_unwind_generation(void)
{
    return rb_load_acquire(&rb_unwind_generation_now);
}

uint64_t rb_unwind_rule_slow(uintptr_t pc, uint64_t key);

RB_INLINE uint64_t rb_unwind_key(uintptr_t pc, uint64_t generation)
{
    return pc | generation << 48;
}

// Returns the first of the two slots of a pc.
RB_INLINE struct rb_unwind_slot *rb_unwind_slot(uintptr_t pc)
{
    return &rb_unwind_slots[pc * RB_GOLDEN >> (65 - RB_UNWIND_SLOTS_LOG2) << 1];
}

// Spreads a rule over all bits of the mixed word: rules of neighbouring pcs differ in few bits, as do the
// pcs.
RB_INLINE uint64_t rb_unwind_spread(uint64_t rule)
{
    return rule * 0xd1342543de82ef95u;
}

RB_INLINE bool rb_unwind_slot_has(const struct rb_unwind_slot *slot, uint64_t key, uint64_t *rule)
{
    *rule = rb_load_relaxed(&slot->rule);
    return (rb_load_relaxed(&slot->mixed) ^ rb_unwind_spread(*rule)) == key;
}

// Returns the rule for a return address, from the table if it is there.
RB_INLINE uint64_t rb_unwind_rule(uintptr_t pc)
{
    const uint64_t key = rb_unwind_key(pc, rb_unwind_generation());
    const struct rb_unwind_slot *slot = rb_unwind_slot(pc);
    uint64_t rule;

    if (RB_LIKELY(rb_unwind_slot_has(slot, key, &rule)) || rb_unwind_slot_has(slot + 1, key, &rule))
        return rule;
    return rb_unwind_rule_slow(pc, key);
}

// Loads a word of the stack. Not C: the compiler (and its sanitizers) must not assume anything about it.
RB_INLINE uintptr_t rb_unwind_load(uintptr_t at)
{
    uintptr_t value;

    __asm__ volatile("movq (%1), %0" : "=r"(value) : "r"(at));
    return value;
}

// Returns true if a frame may have saved a word there: not below its stack pointer, except for the 128
// bytes that the ABI lets a function use (the red zone). An interrupted frame may still have a word in
// these.
RB_INLINE bool rb_unwind_readable(const struct rb_unwind_frame *f, const struct rb_unwind_bounds *b,
                                  uintptr_t at)
{
    const uintptr_t low = f->sp - 128 < b->lo ? b->lo : f->sp - 128;

    return at >= low && at <= b->hi - sizeof(uintptr_t) && at % sizeof(uintptr_t) == 0;
}

RB_INLINE bool rb_unwind_uses_bp(uint64_t rule)
{
    return rb_rule_from_bp(rule) || rb_rule_bp(rule) == RB_RULE_BP_AT_BP;
}

RB_INLINE uintptr_t rb_unwind_base(const struct rb_unwind_frame *f, uint64_t rule)
{
    return (rb_rule_from_bp(rule) ? f->bp : f->sp) + rb_rule_cfa_at(rule);
}

// Lists the words that a step from f reads, as far as it comes.
void rb_unwind_reads(const struct rb_unwind_frame *f, uint64_t rule, const struct rb_unwind_bounds *b,
                     struct rb_unwind_reads *reads);
bool rb_unwind_step_rare(struct rb_unwind_frame *f, uint64_t rule, const struct rb_unwind_bounds *b);

// Replaces *f by its caller's frame. Returns false, with *f undefined, if there is none. The stack pointer
// grows with each step, so a walk ends.
RB_INLINE bool rb_unwind_step(struct rb_unwind_frame *f, uint64_t rule, const struct rb_unwind_bounds *b)
{
    if (RB_UNLIKELY(!rb_rule_is_plain(rule))) {
        struct rb_unwind_frame rare = *f; // so that *f may stay in registers
        const bool more = rb_unwind_step_rare(&rare, rule, b);
        *f = rare;
        return more;
    }
    const uintptr_t cfa = rb_unwind_base(f, rule), pc_at = cfa - 8;
    if (RB_UNLIKELY(pc_at < f->sp || pc_at > b->hi - 8 || pc_at % 8 != 0))
        return false;
    f->pc = rb_unwind_load(pc_at);
    if (rb_rule_bp(rule) == RB_RULE_BP_AT_CFA) {
        const uintptr_t bp_at = cfa + rb_rule_bp_at(rule);
        f->bp = RB_LIKELY(rb_unwind_readable(f, b, bp_at)) ? rb_unwind_load(bp_at) : 0;
    }
    f->sp = cfa;
    return f->pc >> 47 == 0; // else the kernel's half, or no address at all
}

#pragma GCC visibility pop

#endif
