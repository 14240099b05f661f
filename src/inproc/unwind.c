// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the object of a pc and the call frame information of that object; keeps the table of rules.
//
// modules.h finds the object, without a lock and safely in signal handlers. Its
// program headers tell which bytes are code and which may be read: the parser reads only within one of the
// object's loaded segments. A frame on the stack keeps its object from being unloaded, so the bytes stay
// while they are read. A wrong pc (from a wrong rule or a smashed stack) is almost always in no object at
// all.
#include "inproc/unwind.h"

#include <errno.h>
#include <sys/auxv.h>

#include "inproc/cfi.h"
#include "inproc/modules.h"

// An empty slot means that pc 0 is nowhere in generation 0, which is true.
struct rb_unwind_slot rb_unwind_slots[1u << RB_UNWIND_SLOTS_LOG2] __attribute__((aligned(4096)));
uint64_t rb_unwind_generation_now;

// Without such a function (tests of this file), both are 0.
extern const char __start_rb_thread_base[] __attribute__((weak)),
    __stop_rb_thread_base[] __attribute__((weak));

// A loaded object's program headers.
struct image {
    const ElfW(Phdr) * headers;
    unsigned count;
    uintptr_t bias; // address in memory - address in the file's words
};

// Finds the loaded segment with all of `flags` that holds the address.
static bool segment_of(const struct image *image, uintptr_t address, ElfW(Word) flags,
                       struct rb_cfi_bytes *segment)
{
    for (unsigned i = 0; i < image->count; i++) {
        const ElfW(Phdr) *h = &image->headers[i];
        const uintptr_t begin = image->bias + h->p_vaddr;
        if (h->p_type != PT_LOAD || (h->p_flags & flags) != flags || address - begin >= h->p_filesz)
            continue;
        segment->lo = (const uint8_t *)begin;
        segment->hi = segment->lo + h->p_filesz;
        return true;
    }
    return false;
}

// Takes the program's own headers, as the kernel left them: for static programs: their "mapping" is their
// code alone.
static bool image_of_program(struct image *image)
{
    const int before = errno;

    image->headers = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    image->count = (unsigned)getauxval(AT_PHNUM);
    errno = before;
    return image->headers != NULL;
}

static bool find_image(uintptr_t pc, struct image *image, struct rb_cfi_bytes *code)
{
    struct rb_module_map module;

    if (!rb_module_find(pc, &module))
        return false;
    image->bias = module.bias;
    image->count = rb_module_headers(&module, &image->headers);
    return (image->count || image_of_program(image)) && segment_of(image, pc, PF_X, code);
}

static bool find_header(const struct image *image, struct rb_cfi_bytes *header)
{
    for (unsigned i = 0; i < image->count; i++) {
        const ElfW(Phdr) *h = &image->headers[i];
        const uintptr_t begin = image->bias + h->p_vaddr;
        if (h->p_type == PT_GNU_EH_FRAME && segment_of(image, begin, PF_R, header)) {
            header->lo = (const uint8_t *)begin;
            return true;
        }
    }
    return false;
}

static uint64_t find_rule(uintptr_t pc)
{
    struct rb_cfi_bytes code, header, entries;
    struct image image;
    uintptr_t address;

    if (pc > (uintptr_t)__start_rb_thread_base && pc <= (uintptr_t)__stop_rb_thread_base)
        return RB_RULE_NOWHERE;
    if (!find_image(pc, &image, &code))
        return RB_RULE_NOWHERE;
    if (!find_header(&image, &header))
        return RB_RULE_STOP;
    const enum rb_cfi_found found = rb_cfi_search(header, pc, &address);
    if (found == RB_CFI_NONE || !segment_of(&image, address, PF_R, &entries))
        return RB_RULE_STOP;
    return found == RB_CFI_ENTRY ? rb_cfi_rule(entries, address, pc) : rb_cfi_scan(entries, address, pc);
}

// ---- steps ---------------------------------------------------------------------------------------------

// Returns the place of the caller's rbp for a step with the new stack pointer `cfa`; 0 if there is none.
static uintptr_t bp_place(const struct rb_unwind_frame *f, uint64_t rule, uintptr_t cfa, uintptr_t cfa_at,
                          const struct rb_unwind_bounds *b)
{
    uintptr_t at = 0;

    if (rb_rule_kind(rule) == RB_RULE_SIGNAL)
        at = cfa_at + (uintptr_t)RB_SIGNAL_BP;
    else if (rb_rule_bp(rule) == RB_RULE_BP_AT_CFA)
        at = cfa + rb_rule_bp_at(rule);
    else if (rb_rule_bp(rule) == RB_RULE_BP_AT_BP)
        at = f->bp + rb_rule_bp_at(rule);
    return rb_unwind_readable(f, b, at) ? at : 0;
}

// Steps by any rule. Fills in the words that are read, as far as it comes.
static bool step_frame(struct rb_unwind_frame *f, uint64_t rule, const struct rb_unwind_bounds *b,
                       struct rb_unwind_reads *reads)
{
    const enum rb_rule_kind kind = rb_rule_kind(rule);
    uintptr_t cfa = rb_unwind_base(f, rule);

    reads->cfa_at = reads->pc_at = reads->bp_at = 0;
    if (kind < RB_RULE_CFA)
        return false;
    if (kind != RB_RULE_CFA) {
        if (!rb_unwind_readable(f, b, cfa))
            return false;
        reads->cfa_at = cfa;
        cfa = rb_unwind_load(cfa) + rb_rule_add(rule);
    }
    const uintptr_t pc_at = kind == RB_RULE_SIGNAL ? reads->cfa_at + RB_SIGNAL_PC : cfa - 8;
    if (cfa <= f->sp || cfa > b->hi || cfa % 8 != 0 || pc_at < f->sp || !rb_unwind_readable(f, b, pc_at))
        return false;
    reads->pc_at = pc_at;
    const uintptr_t pc = rb_unwind_load(pc_at);
    if (kind == RB_RULE_SIGNAL || rb_rule_bp(rule) != RB_RULE_BP_SAME) {
        reads->bp_at = bp_place(f, rule, cfa, reads->cfa_at, b);
        f->bp = reads->bp_at ? rb_unwind_load(reads->bp_at) : 0;
    }
    f->sp = cfa;
    f->pc = pc + (kind == RB_RULE_SIGNAL);
    return pc >> 47 == 0;
}

void rb_unwind_reads(const struct rb_unwind_frame *f, uint64_t rule, const struct rb_unwind_bounds *b,
                     struct rb_unwind_reads *reads)
{
    struct rb_unwind_frame copy = *f;

    step_frame(&copy, rule, b, reads);
}

RB_NOINLINE bool rb_unwind_step_rare(struct rb_unwind_frame *f, uint64_t rule,
                                     const struct rb_unwind_bounds *b)
{
    struct rb_unwind_reads reads;

    return step_frame(f, rule, b, &reads);
}

// ---- rules ---------------------------------------------------------------------------------------------

static void put_slot(struct rb_unwind_slot *slot, uint64_t rule, uint64_t mixed)
{
    rb_store_relaxed(&slot->rule, rule);
    rb_store_relaxed(&slot->mixed, mixed);
}

// Finds a rule that the table lacks. NOWHERE is not kept: a library may be loaded there. A new rule takes
// the first slot of its pair, and the rule there moves to the second.
RB_NOINLINE uint64_t rb_unwind_rule_slow(uintptr_t pc, uint64_t key)
{
    struct rb_unwind_slot *slot = rb_unwind_slot(pc);

    if (pc == 0)
        return RB_RULE_NOWHERE;
    const uint64_t rule = find_rule(pc - 1);
    if (rule != RB_RULE_NOWHERE) {
        put_slot(slot + 1, rb_load_relaxed(&slot->rule), rb_load_relaxed(&slot->mixed));
        put_slot(slot, rule, key ^ rb_unwind_spread(rule));
    }
    return rule;
}

void rb_unwind_forget(void)
{
    const uint64_t generation = rb_add_fetch_acq_rel(&rb_unwind_generation_now, 1);

    if (generation % 65536 != 0)
        return;
    // Keys have 16 bits of the generation: before these repeat, the slots are cleared.
    for (unsigned i = 0; i < RB_LENGTH(rb_unwind_slots); i++) {
        rb_store_relaxed(&rb_unwind_slots[i].mixed, 0);
        rb_store_relaxed(&rb_unwind_slots[i].rule, 0);
    }
}
