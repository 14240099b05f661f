// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Expressions are evaluated symbolically, to `register + constant` or `*(register + constant) + constant`.
// The pc is a constant here, so the expression of procedure linkage tables comes out as rsp + 8 or rsp + 16.
// There are no jumps: an expression takes as many steps as it has bytes.
#include "inproc/cfi_place.h"

#define MOST_OPERANDS 8

static void add_to(struct place *p, uint64_t value)
{
    if (p->loaded)
        p->add += value;
    else
        p->at += value;
}

static bool is_constant(const struct place *p)
{
    return p->base == BASE_NONE && !p->loaded;
}

enum {
    OP_DEREF = 0x06,
    OP_CONST1U = 0x08, // 1u 1s 2u 2s 4u 4s 8u 8s
    OP_CONST8S = 0x0f,
    OP_CONSTU = 0x10,
    OP_CONSTS = 0x11,
    OP_AND = 0x1a,
    OP_MINUS = 0x1c,
    OP_OR = 0x21,
    OP_PLUS = 0x22,
    OP_PLUS_UCONST = 0x23,
    OP_SHL = 0x24,
    OP_GE = 0x2a,
    OP_LIT0 = 0x30, // to 0x4f
    OP_BREG0 = 0x70,
    OP_BREG31 = 0x8f,
    OP_BREGX = 0x92,
    OP_NOP = 0x96,
};

// Applies a binary operator, *a op *b; only sums may have a base.
static bool apply_binary(uint8_t op, struct place *a, const struct place *b)
{
    if (op == OP_PLUS && is_constant(a)) {
        const uint64_t value = a->at;
        *a = *b;
        add_to(a, value);
        return true;
    }
    if (!is_constant(b))
        return false;
    if (op == OP_PLUS || op == OP_MINUS) {
        add_to(a, op == OP_PLUS ? b->at : -b->at);
        return true;
    }
    if (!is_constant(a))
        return false;
    switch (op) {
    case OP_AND:
        a->at &= b->at;
        return true;
    case OP_OR:
        a->at |= b->at;
        return true;
    case OP_SHL:
        a->at = b->at < 64 ? a->at << b->at : 0;
        return true;
    case OP_GE:
        a->at = (int64_t)a->at >= (int64_t)b->at;
        return true;
    default:
        return false;
    }
}

struct place rb_cfi_evaluate(struct reader *e, bool with_cfa, uintptr_t pc)
{
    static const struct place unknown;
    struct place stack[MOST_OPERANDS];
    unsigned depth = 0;

    if (with_cfa)
        stack[depth++] = (struct place){.base = BASE_CFA, .known = true};
    while (e->at < e->end) {
        const uint8_t op = (uint8_t)reader_take(e, 1);
        if (op == OP_NOP)
            continue;
        if (op == OP_DEREF || op == OP_PLUS_UCONST) { // one operand
            if (depth < 1)
                return unknown;
            struct place *top = &stack[depth - 1];
            if (op == OP_PLUS_UCONST)
                add_to(top, reader_leb(e, false));
            else if (top->loaded || top->base == BASE_NONE)
                return unknown;
            else
                top->loaded = true;
        } else if (op == OP_AND || op == OP_MINUS || op == OP_OR || op == OP_PLUS || op == OP_SHL ||
                   op == OP_GE) { // two
            if (depth < 2 || !apply_binary(op, &stack[depth - 2], &stack[depth - 1]))
                return unknown;
            depth--;
        } else { // none
            struct place value;
            if (op >= OP_LIT0 && op < OP_LIT0 + 32) {
                value = place_constant(op - OP_LIT0);
            } else if (op >= OP_BREG0 && op <= OP_BREG31) {
                value = place_register(op - OP_BREG0, reader_leb(e, true), pc);
            } else if (op == OP_BREGX) {
                const uint64_t reg = reader_leb(e, false);
                value = place_register(reg, reader_leb(e, true), pc);
            } else if (op >= OP_CONST1U && op <= OP_CONST8S) {
                const unsigned bytes = 1u << (op - OP_CONST1U) / 2;
                value = place_constant(op % 2 ? reader_take_signed(e, bytes) : reader_take(e, bytes));
            } else if (op == OP_CONSTU || op == OP_CONSTS) {
                value = place_constant(reader_leb(e, op == OP_CONSTS));
            } else {
                return unknown;
            }
            if (!value.known || depth == MOST_OPERANDS)
                return unknown;
            stack[depth++] = value;
        }
    }
    return e->bad || depth == 0 ? unknown : stack[depth - 1];
}
