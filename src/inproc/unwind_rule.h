// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The way from a frame to its caller's, in one word: the call frame information of one instruction, reduced
// to the part that a walk of the stack needs on x86-64.
//
//   bits  0- 2  kind
//   bit   3     the CFA starts from rbp (else rsp)
//   bits  4- 5  where the caller's rbp is
//   bits  6-11  words added to a CFA that was loaded                (DEREF only, unsigned)
//   bits 12-31  offset of the saved rbp, in words                   (signed)
//   bits 32-63  offset of the CFA, or of the word it is loaded from (signed, bytes)
//
// The CFA (canonical frame address) is the caller's rsp after the return; the return address is at CFA - 8.
// A row that does not fit becomes STOP: a frame is the last of its stack rather than a wrong one.
#ifndef RB_INPROC_UNWIND_RULE_H
#define RB_INPROC_UNWIND_RULE_H

#include "base/types.h"

enum rb_rule_kind {
    RB_RULE_NOWHERE = 0, // no code of a loaded object: not a frame
    RB_RULE_STOP,        // code, but no entry that we understand says how to go on
    RB_RULE_OUTERMOST,   // has no caller
    RB_RULE_CFA,         // CFA = register + offset
    RB_RULE_DEREF,       // CFA = *(register + offset) + add: functions that realign their stack
    RB_RULE_SIGNAL,      // return of a signal handler: the registers are in a ucontext, rsp at rsp + offset
    RB_RULE_KINDS,
};

enum rb_rule_bp {
    RB_RULE_BP_SAME,   // still in the register
    RB_RULE_BP_AT_CFA, // saved at CFA + offset
    RB_RULE_BP_AT_BP,  // saved at rbp + offset (from here on: rare)
    RB_RULE_BP_LOST,
    RB_RULE_BPS,
};

// Where rip and rbp are in a ucontext, seen from rsp (gregs 15, 16 and 10).
#define RB_SIGNAL_PC 8
#define RB_SIGNAL_BP (-40)

#define RB_RULE_MOST_ADD   (63 * 8)
#define RB_RULE_MOST_BP_AT ((INT64_C(1) << 19) * 8 - 8)

_Static_assert(RB_RULE_KINDS <= 1 << 3, "kind has 3 bits");
_Static_assert(RB_RULE_BP_AT_CFA < 2 && RB_RULE_BP_AT_BP >= 2, "plain is a mask");
_Static_assert(RB_RULE_BPS <= 1 << 2, "bp has 2 bits");

struct rb_rule {
    enum rb_rule_kind kind;
    bool from_bp;
    enum rb_rule_bp bp;
    int32_t add, bp_at, cfa_at; // bytes
};

// Packs a rule. The offsets are within the limits above, and `add` and `bp_at` are whole words.
static inline uint64_t rb_rule_pack(const struct rb_rule *r)
{
    return (uint64_t)r->kind | (uint64_t)r->from_bp << 3 | (uint64_t)r->bp << 4 |
           (uint64_t)(r->add / 8 & 0x3f) << 6 | (uint64_t)(r->bp_at / 8 & 0xfffff) << 12 |
           (uint64_t)(uint32_t)r->cfa_at << 32;
}

RB_INLINE enum rb_rule_kind rb_rule_kind(uint64_t rule)
{
    return (enum rb_rule_kind)(rule & 7);
}

// Returns true for CFA = register + offset, rbp kept or saved there: nearly all rules.
RB_INLINE bool rb_rule_is_plain(uint64_t rule)
{
    return (rule & 0x27) == RB_RULE_CFA;
}

RB_INLINE bool rb_rule_from_bp(uint64_t rule)
{
    return rule >> 3 & 1;
}

RB_INLINE enum rb_rule_bp rb_rule_bp(uint64_t rule)
{
    return (enum rb_rule_bp)(rule >> 4 & 3);
}

// Returns true if the caller's rbp is the frame's.
RB_INLINE bool rb_rule_keeps_bp(uint64_t rule)
{
    return rb_rule_bp(rule) == RB_RULE_BP_SAME && rb_rule_kind(rule) != RB_RULE_SIGNAL;
}

RB_INLINE uintptr_t rb_rule_add(uint64_t rule)
{
    return (rule >> 6 & 0x3f) * 8;
}

RB_INLINE uintptr_t rb_rule_bp_at(uint64_t rule)
{
    return (uintptr_t)((int64_t)(rule << 32) >> 44) * 8;
}

RB_INLINE uintptr_t rb_rule_cfa_at(uint64_t rule)
{
    return (uintptr_t)((int64_t)rule >> 32);
}

#endif
