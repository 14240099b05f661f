// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Turns Zydis's decoding of an instruction into rows. Zydis knows operands, sizes and directions. This file
// adds the rest: operands that are no accesses, the stack pointer while it moves, and addresses that are
// lost afterwards.
//
// Invariant: an operand gets no row if a row cannot express its address or size. tests/watch/facts.py holds
// the same facts written down by hand, and the processor is tested as well.
#include "watch/code_table/code_table_decode.h"

#include <string.h>

#define MOST_BYTES 64u
#define RSP        4u
#define RBP        5u

// Kinds with a memory operand that is no access of the program's data, or that a row cannot describe.
static bool has_no_rows(const ZydisDecodedInstruction *i)
{
    switch (i->meta.category) {
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_PREFETCHWT1:
    case ZYDIS_CATEGORY_CLDEMOTE:
    case ZYDIS_CATEGORY_CLFLUSHOPT:
    case ZYDIS_CATEGORY_CLWB:
    case ZYDIS_CATEGORY_CLZERO:
    case ZYDIS_CATEGORY_SYSTEM:
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_IO:
    case ZYDIS_CATEGORY_IOSTRINGOP:
    case ZYDIS_CATEGORY_SEGOP:
    case ZYDIS_CATEGORY_XSAVE:
    case ZYDIS_CATEGORY_XSAVEOPT:
    case ZYDIS_CATEGORY_CET:
    case ZYDIS_CATEGORY_MPX:
    case ZYDIS_CATEGORY_VTX:
    case ZYDIS_CATEGORY_SGX:
    case ZYDIS_CATEGORY_PT:
    case ZYDIS_CATEGORY_UINTR:
    case ZYDIS_CATEGORY_WAITPKG:
    case ZYDIS_CATEGORY_PCONFIG:
    case ZYDIS_CATEGORY_KEYLOCKER:
    case ZYDIS_CATEGORY_KEYLOCKER_WIDE:
    case ZYDIS_CATEGORY_AMX_TILE:
    case ZYDIS_CATEGORY_ENQCMD:
    case ZYDIS_CATEGORY_MOVDIR:
    case ZYDIS_CATEGORY_PADLOCK:
        return true;
    default:
        break;
    }
    switch (i->mnemonic) {
    case ZYDIS_MNEMONIC_LEA:
    case ZYDIS_MNEMONIC_ENTER:
    case ZYDIS_MNEMONIC_XLAT:
    case ZYDIS_MNEMONIC_CLFLUSH:
    case ZYDIS_MNEMONIC_FXSAVE:
    case ZYDIS_MNEMONIC_FXSAVE64:
    case ZYDIS_MNEMONIC_FXRSTOR:
    case ZYDIS_MNEMONIC_FXRSTOR64:
    case ZYDIS_MNEMONIC_FNSAVE:
    case ZYDIS_MNEMONIC_FRSTOR:
    case ZYDIS_MNEMONIC_FNSTENV:
    case ZYDIS_MNEMONIC_FLDENV:
        return true;
    default:
        return false;
    }
}

// Accesses to the state of the floating-point unit alone: no memory that a program shares.
static bool is_state(ZydisMnemonic m)
{
    switch (m) {
    case ZYDIS_MNEMONIC_LDMXCSR:
    case ZYDIS_MNEMONIC_STMXCSR:
    case ZYDIS_MNEMONIC_VLDMXCSR:
    case ZYDIS_MNEMONIC_VSTMXCSR:
    case ZYDIS_MNEMONIC_FLDCW:
    case ZYDIS_MNEMONIC_FNSTCW:
    case ZYDIS_MNEMONIC_FNSTSW:
        return true;
    default:
        return false;
    }
}

// ---- forms ---------------------------------------------------------------------------------------------

// Classifies by name; an instruction without an entry is classified by its operands.
static enum rb_code_form named_form(const ZydisDecodedInstruction *i, bool writes)
{
    switch (i->mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
        return RB_CODE_FORM_MOV;
    case ZYDIS_MNEMONIC_MOVZX:
    case ZYDIS_MNEMONIC_MOVSX:
    case ZYDIS_MNEMONIC_MOVSXD:
        return RB_CODE_FORM_EXTEND;
    case ZYDIS_MNEMONIC_MOVD:
    case ZYDIS_MNEMONIC_MOVQ:
    case ZYDIS_MNEMONIC_MOVSS:
    case ZYDIS_MNEMONIC_MOVSD:
    case ZYDIS_MNEMONIC_MOVLPS:
    case ZYDIS_MNEMONIC_MOVLPD:
    case ZYDIS_MNEMONIC_VMOVD:
    case ZYDIS_MNEMONIC_VMOVQ:
    case ZYDIS_MNEMONIC_VMOVSS:
    case ZYDIS_MNEMONIC_VMOVSD:
    case ZYDIS_MNEMONIC_VMOVLPS:
    case ZYDIS_MNEMONIC_VMOVLPD:
        return RB_CODE_FORM_SCALAR;
    case ZYDIS_MNEMONIC_MOVAPS:
    case ZYDIS_MNEMONIC_MOVAPD:
    case ZYDIS_MNEMONIC_MOVDQA:
    case ZYDIS_MNEMONIC_VMOVAPS:
    case ZYDIS_MNEMONIC_VMOVAPD:
    case ZYDIS_MNEMONIC_VMOVDQA:
    case ZYDIS_MNEMONIC_VMOVDQA32:
    case ZYDIS_MNEMONIC_VMOVDQA64:
        return RB_CODE_FORM_ALIGNED;
    case ZYDIS_MNEMONIC_MOVUPS:
    case ZYDIS_MNEMONIC_MOVUPD:
    case ZYDIS_MNEMONIC_MOVDQU:
    case ZYDIS_MNEMONIC_LDDQU:
    case ZYDIS_MNEMONIC_VMOVUPS:
    case ZYDIS_MNEMONIC_VMOVUPD:
    case ZYDIS_MNEMONIC_VMOVDQU:
    case ZYDIS_MNEMONIC_VMOVDQU8:
    case ZYDIS_MNEMONIC_VMOVDQU16:
    case ZYDIS_MNEMONIC_VMOVDQU32:
    case ZYDIS_MNEMONIC_VMOVDQU64:
    case ZYDIS_MNEMONIC_VLDDQU:
        return RB_CODE_FORM_UNALIGNED;
    case ZYDIS_MNEMONIC_CMP:
    case ZYDIS_MNEMONIC_TEST:
        return RB_CODE_FORM_COMPARE;
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
    case ZYDIS_MNEMONIC_AND:
    case ZYDIS_MNEMONIC_OR:
    case ZYDIS_MNEMONIC_XOR:
    case ZYDIS_MNEMONIC_INC:
    case ZYDIS_MNEMONIC_DEC:
    case ZYDIS_MNEMONIC_NEG:
    case ZYDIS_MNEMONIC_NOT:
        return writes ? RB_CODE_FORM_CHANGE : RB_CODE_FORM_COMBINE;
    case ZYDIS_MNEMONIC_ADDSS:
    case ZYDIS_MNEMONIC_ADDSD:
    case ZYDIS_MNEMONIC_SUBSS:
    case ZYDIS_MNEMONIC_SUBSD:
    case ZYDIS_MNEMONIC_MULSS:
    case ZYDIS_MNEMONIC_MULSD:
    case ZYDIS_MNEMONIC_DIVSS:
    case ZYDIS_MNEMONIC_DIVSD:
    case ZYDIS_MNEMONIC_VADDSS:
    case ZYDIS_MNEMONIC_VADDSD:
    case ZYDIS_MNEMONIC_VSUBSS:
    case ZYDIS_MNEMONIC_VSUBSD:
    case ZYDIS_MNEMONIC_VMULSS:
    case ZYDIS_MNEMONIC_VMULSD:
    case ZYDIS_MNEMONIC_VDIVSS:
    case ZYDIS_MNEMONIC_VDIVSD:
        return RB_CODE_FORM_FLOATING;
    case ZYDIS_MNEMONIC_PUSH:
    case ZYDIS_MNEMONIC_POP:
        return RB_CODE_FORM_PUSH;
    default:
        return writes ? RB_CODE_FORM_REPLACE : RB_CODE_FORM_COMBINE;
    }
}

static enum rb_code_form form_of(const ZydisDecodedInstruction *i, const struct rb_code_instruction *out)
{
    unsigned flags = 0, size = 0;

    for (unsigned n = 0; n < out->rows; n++) {
        flags |= out->row[n].flags;
        size = out->row[n].size > size ? out->row[n].size : size;
    }
    if (size > 16 || flags & (RB_CODE_STRING | RB_CODE_SPREAD | RB_CODE_MASKED) ||
        i->meta.category == ZYDIS_CATEGORY_X87_ALU)
        return RB_CODE_FORM_NEVER;
    return flags & RB_CODE_BRANCH ? RB_CODE_FORM_BRANCH : named_form(i, flags & RB_CODE_WRITE);
}

// ---- operands ------------------------------------------------------------------------------------------

static bool number_of(ZydisRegister reg, uint8_t *number)
{
    if (reg == ZYDIS_REGISTER_NONE) {
        *number = RB_CODE_NONE;
        return true;
    }
    if (reg == ZYDIS_REGISTER_RIP) {
        *number = RB_CODE_RIP;
        return true;
    }
    *number = (uint8_t)ZydisRegisterGetId(reg);
    return ZydisRegisterGetClass(reg) == ZYDIS_REGCLASS_GPR64;
}

static bool is_high_byte(ZydisRegister reg)
{
    return reg == ZYDIS_REGISTER_AH || reg == ZYDIS_REGISTER_BH || reg == ZYDIS_REGISTER_CH ||
           reg == ZYDIS_REGISTER_DH;
}

static bool is_bit_string(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *operands)
{
    return (i->mnemonic == ZYDIS_MNEMONIC_BT || i->mnemonic == ZYDIS_MNEMONIC_BTS ||
            i->mnemonic == ZYDIS_MNEMONIC_BTR || i->mnemonic == ZYDIS_MNEMONIC_BTC) &&
           operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER;
}

static bool is_masked(const ZydisDecodedInstruction *i)
{
    switch (i->mnemonic) {
    case ZYDIS_MNEMONIC_MASKMOVDQU:
    case ZYDIS_MNEMONIC_MASKMOVQ:
    case ZYDIS_MNEMONIC_VMASKMOVDQU:
    case ZYDIS_MNEMONIC_VMASKMOVPS:
    case ZYDIS_MNEMONIC_VMASKMOVPD:
    case ZYDIS_MNEMONIC_VPMASKMOVD:
    case ZYDIS_MNEMONIC_VPMASKMOVQ:
        return true;
    // A half of the operand is enough for these, and some processors take no more.
    case ZYDIS_MNEMONIC_PSLLW:
    case ZYDIS_MNEMONIC_PSLLD:
    case ZYDIS_MNEMONIC_PSLLQ:
    case ZYDIS_MNEMONIC_PSRLW:
    case ZYDIS_MNEMONIC_PSRLD:
    case ZYDIS_MNEMONIC_PSRLQ:
    case ZYDIS_MNEMONIC_PSRAW:
    case ZYDIS_MNEMONIC_PSRAD:
    case ZYDIS_MNEMONIC_VPSLLW:
    case ZYDIS_MNEMONIC_VPSLLD:
    case ZYDIS_MNEMONIC_VPSLLQ:
    case ZYDIS_MNEMONIC_VPSRLW:
    case ZYDIS_MNEMONIC_VPSRLD:
    case ZYDIS_MNEMONIC_VPSRLQ:
    case ZYDIS_MNEMONIC_VPSRAW:
    case ZYDIS_MNEMONIC_VPSRAD:
    case ZYDIS_MNEMONIC_VPSRAQ:
    case ZYDIS_MNEMONIC_PUNPCKLBW:
    case ZYDIS_MNEMONIC_PUNPCKLWD:
    case ZYDIS_MNEMONIC_PUNPCKLDQ:
    case ZYDIS_MNEMONIC_PUNPCKLQDQ:
    case ZYDIS_MNEMONIC_PUNPCKHBW:
    case ZYDIS_MNEMONIC_PUNPCKHWD:
    case ZYDIS_MNEMONIC_PUNPCKHDQ:
    case ZYDIS_MNEMONIC_PUNPCKHQDQ:
    case ZYDIS_MNEMONIC_UNPCKLPS:
    case ZYDIS_MNEMONIC_UNPCKLPD:
    case ZYDIS_MNEMONIC_UNPCKHPS:
    case ZYDIS_MNEMONIC_UNPCKHPD:
    case ZYDIS_MNEMONIC_VPUNPCKLBW:
    case ZYDIS_MNEMONIC_VPUNPCKLWD:
    case ZYDIS_MNEMONIC_VPUNPCKLDQ:
    case ZYDIS_MNEMONIC_VPUNPCKLQDQ:
    case ZYDIS_MNEMONIC_VPUNPCKHBW:
    case ZYDIS_MNEMONIC_VPUNPCKHWD:
    case ZYDIS_MNEMONIC_VPUNPCKHDQ:
    case ZYDIS_MNEMONIC_VPUNPCKHQDQ:
    case ZYDIS_MNEMONIC_VUNPCKLPS:
    case ZYDIS_MNEMONIC_VUNPCKLPD:
    case ZYDIS_MNEMONIC_VUNPCKHPS:
    case ZYDIS_MNEMONIC_VUNPCKHPD:
        return true;
    default:
        break;
    }
    if (i->meta.category == ZYDIS_CATEGORY_COMPRESS || i->meta.category == ZYDIS_CATEGORY_EXPAND)
        return true;
    return i->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX && i->avx.mask.mode != ZYDIS_MASK_MODE_INVALID &&
           i->avx.mask.mode != ZYDIS_MASK_MODE_DISABLED;
}

#define REPEATS (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)

// Returns the flags that all operands of the instruction share.
static unsigned flags_of(const ZydisDecodedInstruction *i)
{
    unsigned flags = 0;

    if (i->attributes & ZYDIS_ATTRIB_HAS_LOCK || i->mnemonic == ZYDIS_MNEMONIC_XCHG)
        flags |= RB_CODE_LOCKED;
    if (i->meta.category == ZYDIS_CATEGORY_STRINGOP) {
        flags |= RB_CODE_STRING;
        if (i->attributes & REPEATS)
            flags |= RB_CODE_REP;
        if (i->attributes & (ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
            flags |= RB_CODE_MASKED; // may stop before rcx is used up
    }
    switch (i->meta.category) {
    case ZYDIS_CATEGORY_CALL:
        flags |= RB_CODE_BRANCH | RB_CODE_DOWN;
        break;
    case ZYDIS_CATEGORY_RET:
        flags |= RB_CODE_BRANCH | RB_CODE_UP;
        break;
    case ZYDIS_CATEGORY_UNCOND_BR:
    case ZYDIS_CATEGORY_COND_BR:
        flags |= RB_CODE_BRANCH;
        break;
    case ZYDIS_CATEGORY_PUSH:
        flags |= RB_CODE_DOWN;
        break;
    case ZYDIS_CATEGORY_POP:
        flags |= RB_CODE_UP;
        break;
    default:
        break;
    }
    if (is_masked(i))
        flags |= RB_CODE_MASKED;
    return flags;
}

// Returns the register of the address that the instruction overwrites, and whether it was loaded from
// there.
static unsigned lost_of(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *operands,
                        const struct rb_code_row *row)
{
    bool base = false, index = false, loaded = false;

    if (row->flags & RB_CODE_STRING)
        return 0;
    for (unsigned n = 0; n < i->operand_count; n++) {
        const ZydisDecodedOperand *o = &operands[n];
        if (o->type != ZYDIS_OPERAND_TYPE_REGISTER || !(o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
            continue;
        uint8_t number;
        if (!number_of(ZydisRegisterGetLargestEnclosing(i->machine_mode, o->reg.value), &number) ||
            number >= 16)
            continue;
        if (number == RSP && row->flags & (RB_CODE_DOWN | RB_CODE_UP) &&
            o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
            continue;
        base |= number == row->base;
        index |= number == row->index;
        if (number == row->base || number == row->index)
            loaded = (i->mnemonic == ZYDIS_MNEMONIC_MOV || i->mnemonic == ZYDIS_MNEMONIC_MOVZX ||
                      i->mnemonic == ZYDIS_MNEMONIC_MOVSX || i->mnemonic == ZYDIS_MNEMONIC_MOVSXD) &&
                     !is_high_byte(o->reg.value);
    }
    if (!base && !index)
        return 0;
    return RB_CODE_LOST | (loaded ? RB_CODE_LOADED : 0u) | (index && !base ? RB_CODE_LOST_INDEX : 0u);
}

// Makes a row of an operand that is written in the instruction, or of a string operation. Returns false if
// there is none.
static bool row_of(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *operands,
                   const ZydisDecodedOperand *o, unsigned flags, struct rb_code_row *row)
{
    static const uint8_t log2_of[9] = {[2] = 1, [4] = 2, [8] = 3};
    int64_t displacement = o->mem.disp.has_displacement ? o->mem.disp.value : 0;
    unsigned size = o->size / 8;

    if (o->mem.type != ZYDIS_MEMOP_TYPE_MEM && o->mem.type != ZYDIS_MEMOP_TYPE_VSIB)
        return false;
    if (i->address_width != 64 || !number_of(o->mem.base, &row->base))
        return false;
    if (o->mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
        flags |= RB_CODE_SPREAD;
        row->index = RB_CODE_NONE;
        size = o->element_size / 8u;
    } else if (!number_of(o->mem.index, &row->index) || row->index == RB_CODE_RIP) {
        return false;
    }
    row->scale_segment = row->index == RB_CODE_NONE || o->mem.scale > 8 ? 0 : log2_of[o->mem.scale];
    if (o->mem.segment == ZYDIS_REGISTER_FS)
        row->scale_segment |= RB_CODE_FS;
    else if (o->mem.segment == ZYDIS_REGISTER_GS)
        row->scale_segment |= RB_CODE_GS;
    if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
        flags |= RB_CODE_READ;
    if (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
        flags |= RB_CODE_WRITE;
    if (is_bit_string(i, operands))
        flags |= RB_CODE_SPREAD;
    if (i->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX && i->avx.broadcast.mode &&
        !i->avx.broadcast.is_static)
        size = o->element_size / 8u;
    if (i->meta.category == ZYDIS_CATEGORY_POP && row->base == RSP)
        displacement += (int64_t)size; // it is popped before the address is made
    if (displacement != (int32_t)displacement || !size || size > MOST_BYTES ||
        !(flags & (RB_CODE_READ | RB_CODE_WRITE)))
        return false;
    if (row->base == RSP)
        flags |= RB_CODE_STACK;
    row->displacement = (int32_t)displacement;
    row->size = (uint16_t)size;
    row->flags = (uint16_t)flags;
    row->flags |= (uint16_t)lost_of(i, operands, row);
    return true;
}

// Makes the rows of push, pop, call, ret, leave: their use of the stack. Sizes are those of 64-bit mode.
static bool stack_row(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *operands, unsigned flags,
                      struct rb_code_row *row)
{
    const bool branch = flags & RB_CODE_BRANCH, down = flags & RB_CODE_DOWN;
    const bool leave = i->mnemonic == ZYDIS_MNEMONIC_LEAVE;
    const unsigned size = branch || i->operand_width != 16 ? 8 : 2;

    if (!leave && !(flags & (RB_CODE_DOWN | RB_CODE_UP)))
        return false;
    *row = (struct rb_code_row){.displacement = down ? -(int32_t)size : 0,
                                .size = (uint16_t)size,
                                .base = leave ? RBP : RSP,
                                .index = RB_CODE_NONE};
    flags |= RB_CODE_STACK | (down ? RB_CODE_WRITE : RB_CODE_READ);
    if (leave)
        flags = RB_CODE_STACK | RB_CODE_READ | RB_CODE_LOST | RB_CODE_LOADED;
    else if (i->mnemonic == ZYDIS_MNEMONIC_POP && operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
             ZydisRegisterGetId(operands[0].reg.value) == RSP &&
             ZydisRegisterGetClass(operands[0].reg.value) == ZYDIS_REGCLASS_GPR64)
        flags |= RB_CODE_LOST | RB_CODE_LOADED;
    row->flags = (uint16_t)flags;
    return true;
}

static void mark_site(const ZydisDecodedInstruction *i, struct rb_code_instruction *out)
{
    const unsigned never = RB_CODE_LOCKED | RB_CODE_STACK | RB_CODE_BRANCH | RB_CODE_MASKED | RB_CODE_SPREAD;

    if (is_state(i->mnemonic))
        return;
    for (unsigned n = out->rows; n-- > 0;) // the write, if there are two
        if (!(out->row[n].flags & never) && !(out->row[n].scale_segment & (RB_CODE_FS | RB_CODE_GS))) {
            out->row[n].flags |= RB_CODE_SITE;
            return;
        }
}

static void make_rows(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *operands,
                      struct rb_code_instruction *out)
{
    const unsigned flags = flags_of(i);
    const bool stack = flags & (RB_CODE_DOWN | RB_CODE_UP);

    for (unsigned n = 0; n < i->operand_count; n++) {
        const ZydisDecodedOperand *o = &operands[n];
        struct rb_code_row row = {0};
        if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || (o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
                                                     (stack || i->mnemonic == ZYDIS_MNEMONIC_LEAVE)))
            continue;
        if (out->rows == 2 || !row_of(i, operands, o, flags, &row)) {
            out->rows = 0; // all of it or nothing
            return;
        }
        out->row[out->rows++] = row;
    }
    if (out->rows < 2 && stack_row(i, operands, flags, &out->row[out->rows]))
        out->rows++;
    if (out->rows == 2 && !(out->row[0].flags & RB_CODE_READ)) { // the read comes first
        const struct rb_code_row first = out->row[0];
        out->row[0] = out->row[1];
        out->row[1] = first;
    }
    for (unsigned n = 0; n < out->rows; n++)
        out->row[n].length = i->length;
    if (out->rows)
        out->form = form_of(i, out);
    mark_site(i, out);
}

// Returns true for `mov %rsp,%rbp`, or lea.
static bool makes_frame(const ZydisDecodedInstruction *i, const ZydisDecodedOperand *operands)
{
    if (operands[0].type != ZYDIS_OPERAND_TYPE_REGISTER || operands[0].reg.value != ZYDIS_REGISTER_RBP)
        return false;
    if (i->mnemonic == ZYDIS_MNEMONIC_MOV)
        return operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER && operands[1].reg.value == ZYDIS_REGISTER_RSP;
    return i->mnemonic == ZYDIS_MNEMONIC_LEA && operands[1].mem.base == ZYDIS_REGISTER_RSP;
}

bool rb_code_decode(const ZydisDecoder *decoder, const uint8_t *code, size_t bytes, uint64_t address,
                    struct rb_code_instruction *out)
{
    ZydisDecodedInstruction i;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(decoder, code, bytes, &i, operands)))
        return false;
    *out = (struct rb_code_instruction){.length = i.length, .form = RB_CODE_FORM_NEVER};
    for (unsigned n = 0; n < i.operand_count_visible; n++) {
        const ZydisDecodedOperand *o = &operands[n];
        if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o->imm.is_relative) {
            out->has_target = true;
            out->target = address + i.length + o->imm.value.u;
        } else if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.base == ZYDIS_REGISTER_RIP) {
            out->has_relative = true;
            out->is_address = o->mem.type == ZYDIS_MEMOP_TYPE_AGEN;
            out->relative = address + i.length + (uint64_t)o->mem.disp.value;
        }
    }
    out->makes_frame = i.operand_count_visible >= 2 && makes_frame(&i, operands);
    out->jumps_anywhere =
        i.meta.category == ZYDIS_CATEGORY_UNCOND_BR && !out->has_target && !out->has_relative;
    if (!has_no_rows(&i))
        make_rows(&i, operands, out);
    return true;
}
