// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lengths and memory operands of x86-64 instructions, as far as compilers use them between a hook's call
// and the access that it announces. Encodings: Intel SDM volume 2, appendix A.
//
// Invariant: an unknown instruction is a barrier, where a walk from instruction to instruction stops. A
// wrong "unknown" loses a trap. No other form is taken for a plain access: `lock`, xchg, cmpxchg, xadd and
// string operations are barriers.
#include "run/watchpoint/arch_access.h"

// The effect of an opcode on its operand, if that is in memory.
enum class { NOT_KNOWN, NO_MEMORY, LOADS, STORES, CHANGES, OTHER_MEMORY };

struct parse {
    const uint8_t *at;
    bool wide, operand16, repeat, repeat_not, rex_b, rex_x, rex_r, long_vector;
    uint8_t mod, reg, rm;
};

static const uint8_t gregs[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
#define RSP 4
#define RBP 5

static uintptr_t value_of(const ucontext_t *context, unsigned number)
{
    return (uintptr_t)context->uc_mcontext.gregs[gregs[number]];
}

static int32_t read_int32(const uint8_t *at)
{
    int32_t d;

    __builtin_memcpy(&d, at, sizeof(d));
    return d;
}

// ModRM, SIB and displacement. The caller, which knows the instruction's end, completes an address relative
// to the instruction pointer.
struct operand {
    bool relative;
    uint16_t uses; // registers
};

static void parse_operand(struct parse *p, const ucontext_t *context, struct rb_code *code, struct operand *o)
{
    const uint8_t modrm = *p->at++;
    uintptr_t address = 0;
    unsigned base;

    p->mod = modrm >> 6;
    p->reg = (uint8_t)((modrm >> 3 & 7) | (p->rex_r ? 8 : 0));
    p->rm = modrm & 7;
    *o = (struct operand){false, 0};
    if (p->mod == 3) {
        p->rm = (uint8_t)(p->rm | (p->rex_b ? 8 : 0));
        return;
    }
    code->memory = true;
    if (p->rm == 4) {
        const uint8_t sib = *p->at++;
        const unsigned index = (sib >> 3 & 7u) | (p->rex_x ? 8u : 0u);
        base = (sib & 7u) | (p->rex_b ? 8u : 0u);
        if (index != RSP) {
            address += value_of(context, index) << (sib >> 6);
            o->uses |= (uint16_t)(1u << index);
        }
        if ((sib & 7) == 5 && p->mod == 0) {
            address += (uintptr_t)(intptr_t)read_int32(p->at);
            p->at += 4;
            base = 16;
        }
    } else if (p->rm == 5 && p->mod == 0) {
        o->relative = true;
        address = (uintptr_t)(intptr_t)read_int32(p->at);
        p->at += 4;
        base = 16;
    } else {
        base = p->rm | (p->rex_b ? 8u : 0u);
    }
    if (base < 16) {
        address += value_of(context, base);
        o->uses |= (uint16_t)(1u << base);
        code->on_frame = base == RSP || base == RBP;
    }
    if (p->mod == 1)
        address += (uintptr_t)(intptr_t)(int8_t)*p->at++;
    if (p->mod == 2) {
        address += (uintptr_t)(intptr_t)read_int32(p->at);
        p->at += 4;
    }
    code->address = address;
}

static uint8_t integer_size(const struct parse *p)
{
    return p->wide ? 8 : p->operand16 ? 2 : 4;
}

// The effect of an opcode on its memory operand, the operand's size, and the bytes of constants behind it.
struct form {
    enum class class;
    uint8_t size, constant;
    bool to_register; // the register of ModRM is written
    bool to_pair;     // rax and rdx are written
    bool to_operand;  // the operand is written if it is a register
};

// Decodes an opcode of one byte. `modrm` is read where it selects the operation.
static struct form decode_one_byte(const struct parse *p, uint8_t op, uint8_t modrm)
{
    const uint8_t full = integer_size(p), size = op & 1 ? full : 1;
    const uint8_t word = p->operand16 ? 2 : 4;
    const unsigned which = modrm >> 3 & 7;

    if (op < 0x40) { // add or adc sbb and sub xor cmp
        if ((op & 7) > 3)
            return (struct form){NOT_KNOWN, 0, 0, false, false, false};
        if (op & 2)
            return (struct form){LOADS, size, 0, op < 0x38, false, false};
        return (struct form){op < 0x38 ? CHANGES : LOADS, size, 0, false, false, op < 0x38};
    }
    switch (op) {
    case 0x63: // movsxd
        return (struct form){LOADS, 4, 0, true, false, false};
    case 0x69:
        return (struct form){LOADS, full, word, true, false, false};
    case 0x6b:
        return (struct form){LOADS, full, 1, true, false, false};
    case 0x80:
    case 0x83:
        return (struct form){which == 7 ? LOADS : CHANGES, size, 1, false, false, which != 7};
    case 0x81:
        return (struct form){which == 7 ? LOADS : CHANGES, size, word, false, false, which != 7};
    case 0x84:
    case 0x85:
        return (struct form){LOADS, size, 0, false, false, false};
    case 0x88:
    case 0x89:
        return (struct form){STORES, size, 0, false, false, true};
    case 0x8a:
    case 0x8b:
        return (struct form){LOADS, size, 0, true, false, false};
    case 0x8d: // lea
        return (struct form){NO_MEMORY, 0, 0, true, false, false};
    case 0xc0:
    case 0xc1:
        return (struct form){CHANGES, size, 1, false, false, true};
    case 0xc6:
    case 0xc7:
        return (struct form){which ? NOT_KNOWN : STORES, size, op & 1 ? word : 1, false, false, true};
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3:
        return (struct form){CHANGES, size, 0, false, false, true};
    case 0xf6:
    case 0xf7:
        if (which < 2)
            return (struct form){LOADS, size, op & 1 ? word : 1, false, false, false};
        if (which < 4)
            return (struct form){CHANGES, size, 0, false, false, true};
        return (struct form){LOADS, size, 0, false, true, false};
    case 0xfe:
    case 0xff:
        return (struct form){which < 2 ? CHANGES : NOT_KNOWN, size, 0, false, false, true};
    default:
        return (struct form){NOT_KNOWN, 0, 0, false, false, false};
    }
}

// Decodes an opcode of two bytes, 0F and this one: those of integer code and of scalar and vector moves and
// arithmetic.
static struct form decode_two_bytes(const struct parse *p, uint8_t op)
{
    const uint8_t vector = p->long_vector ? 32 : 16, full = integer_size(p);
    const uint8_t by_prefix = p->repeat ? 4 : p->repeat_not ? 8 : vector;

    if (op >= 0x40 && op <= 0x4f) // cmov
        return (struct form){LOADS, full, 0, true, false, false};
    if (op >= 0x90 && op <= 0x9f) // setcc
        return (struct form){STORES, 1, 0, false, false, true};
    switch (op) {
    case 0x10:
        return (struct form){LOADS, by_prefix, 0, false, false, false};
    case 0x11:
        return (struct form){STORES, by_prefix, 0, false, false, false};
    case 0x12:
    case 0x16:
        return (struct form){p->repeat || p->repeat_not ? OTHER_MEMORY : LOADS, 8, 0, false, false, false};
    case 0x13:
    case 0x17:
        return (struct form){STORES, 8, 0, false, false, false};
    case 0x1e:
    case 0x1f: // nop
        return (struct form){NO_MEMORY, 0, 0, false, false, false};
    case 0x28:
        return (struct form){LOADS, vector, 0, false, false, false};
    case 0x29:
        return (struct form){STORES, vector, 0, false, false, false};
    case 0x2a: // from an integer
        return (struct form){
            p->repeat || p->repeat_not ? LOADS : OTHER_MEMORY, p->wide ? 8 : 4, 0, false, false, false};
    case 0x2c:
    case 0x2d: // to one
        return (
            struct form){p->repeat || p->repeat_not ? LOADS : OTHER_MEMORY, by_prefix, 0, true, false, false};
    case 0x2e:
    case 0x2f: // compare
        return (struct form){LOADS, p->operand16 ? 8 : 4, 0, false, false, false};
    case 0x51:
    case 0x58:
    case 0x59:
    case 0x5c:
    case 0x5d:
    case 0x5e:
    case 0x5f:
        return (struct form){LOADS, by_prefix, 0, false, false, false};
    case 0x5a: // between float and double
        return (struct form){
            p->repeat || p->repeat_not ? LOADS : OTHER_MEMORY, by_prefix, 0, false, false, false};
    case 0x54:
    case 0x55:
    case 0x56:
    case 0x57:
        return (struct form){LOADS, vector, 0, false, false, false};
    case 0x6e:
        return (struct form){LOADS, p->wide ? 8 : 4, 0, false, false, false};
    case 0x6f:
        return (
            struct form){p->operand16 || p->repeat ? LOADS : OTHER_MEMORY, vector, 0, false, false, false};
    case 0x7e:
        if (p->repeat)
            return (struct form){LOADS, 8, 0, false, false, false};
        return (struct form){STORES, p->wide ? 8 : 4, 0, false, false, true};
    case 0x7f:
        return (
            struct form){p->operand16 || p->repeat ? STORES : OTHER_MEMORY, vector, 0, false, false, false};
    case 0xaf:
    case 0xbc:
    case 0xbd:
        return (struct form){LOADS, full, 0, true, false, false};
    case 0xb6:
    case 0xbe:
        return (struct form){LOADS, 1, 0, true, false, false};
    case 0xb7:
    case 0xbf:
        return (struct form){LOADS, 2, 0, true, false, false};
    case 0xd6:
        return (struct form){p->operand16 ? STORES : NOT_KNOWN, 8, 0, false, false, false};
    case 0x70:
    case 0xc6:
        return (struct form){OTHER_MEMORY, 0, 1, false, false, false};
    default:
        break;
    }
    if ((op >= 0x60 && op <= 0x6d) || (op >= 0xd4 && op <= 0xfe && op != 0xd7 && op != 0xf0 && op != 0xf7))
        return (struct form){OTHER_MEMORY, 0, 0, false, false, false};
    return (struct form){NOT_KNOWN, 0, 0, false, false, false};
}

// Returns the length of an instruction without ModRM that changes registers or flags alone; else 0.
static uint8_t decode_without_operand(const struct parse *p, uint8_t op)
{
    const uint8_t word = p->operand16 ? 2 : 4;

    if (op < 0x40 && (op & 7) == 4)
        return 2;
    if (op < 0x40 && (op & 7) == 5)
        return (uint8_t)(1 + word);
    if (op == 0x90 || op == 0x98 || op == 0x99)
        return 1;
    if (op == 0xa8)
        return 2;
    if (op == 0xa9)
        return (uint8_t)(1 + word);
    if (op >= 0xb0 && op <= 0xb7)
        return 2;
    if (op >= 0xb8 && op <= 0xbf)
        return (uint8_t)(1 + (p->wide ? 8 : word));
    return 0;
}

// Reads prefixes, VEX included. Returns false if they are not known.
static bool read_prefixes(struct parse *p, bool *vex, uint8_t *map)
{
    *vex = false;
    *map = 0;
    for (unsigned i = 0; i < 4; i++, p->at++) {
        if (*p->at == 0x66)
            p->operand16 = true;
        else if (*p->at == 0xf3)
            p->repeat = true;
        else if (*p->at == 0xf2)
            p->repeat_not = true;
        else
            break;
    }
    if ((*p->at & 0xf0) == 0x40) {
        const uint8_t rex = *p->at++;
        p->wide = rex & 8;
        p->rex_r = rex & 4;
        p->rex_x = rex & 2;
        p->rex_b = rex & 1;
    } else if (*p->at == 0xc5 || *p->at == 0xc4) {
        const bool three = *p->at++ == 0xc4;
        const uint8_t first = *p->at++, last = three ? *p->at++ : first;
        p->rex_r = !(first & 0x80);
        p->rex_x = three && !(first & 0x40);
        p->rex_b = three && !(first & 0x20);
        p->wide = three && (last & 0x80);
        *map = three ? first & 31 : 1;
        p->long_vector = last & 4;
        p->operand16 = (last & 3) == 1;
        p->repeat = (last & 3) == 2;
        p->repeat_not = (last & 3) == 3;
        *vex = true;
        return *map == 1;
    }
    return true;
}

void rb_arch_code(uintptr_t pc, const ucontext_t *context, struct rb_code *code)
{
    struct parse p = {.at = (const uint8_t *)pc};
    struct operand o;
    struct form f;
    bool vex;
    uint8_t map;

    *code = (struct rb_code){.barrier = true};
    if (!read_prefixes(&p, &vex, &map))
        return;
    uint8_t op = *p.at;
    if (vex || op == 0x0f) {
        if (!vex)
            op = *++p.at;
        f = decode_two_bytes(&p, op);
    } else {
        const uint8_t bytes = decode_without_operand(&p, op);
        if (bytes && op != 0xbc && !p.repeat_not) { // not: a constant into the stack pointer
            code->barrier = false;
            code->bytes = (uint8_t)(p.at - (const uint8_t *)pc + bytes);
            return;
        }
        f = decode_one_byte(&p, op, p.at[1]);
        if (p.repeat || p.repeat_not)
            f.class = NOT_KNOWN;
    }
    if (f.class == NOT_KNOWN)
        return;
    p.at++;
    parse_operand(&p, context, code, &o);
    p.at += f.constant;
    code->bytes = (uint8_t)(p.at - (const uint8_t *)pc);
    if (o.relative)
        code->address += (uintptr_t)p.at;
    if (code->bytes > RB_CODE_BYTES)
        return;
    uint16_t written = f.to_pair ? 5 : 0; // rax, rdx
    if (f.to_register)
        written |= (uint16_t)(1u << p.reg);
    if (f.to_operand && p.mod == 3)
        written |= (uint16_t)(1u << p.rm);
    if (written & 1u << RSP) // also ah, which has the same number without REX: lost, not wrong
        return;
    code->barrier = false;
    code->memory = code->memory && f.class != NO_MEMORY;
    code->known = f.class == LOADS || f.class == STORES || f.class == CHANGES;
    code->reads = f.class == LOADS || f.class == CHANGES;
    code->writes = f.class == STORES || f.class == CHANGES;
    code->size = f.size;
    code->lost = (o.uses & written) != 0;
}
