// The interpreter keeps one row: how to find the CFA, the return address and rbp. Other registers are read over.
// Expressions are evaluated symbolically to `register + constant` or `*(register + constant) + constant`; the pc is
// a constant here, so the expression of procedure linkage tables comes out as rsp + 8 or rsp + 16. Whatever is
// more than that makes a row nobody can follow, and the rule STOP (or an rbp that is lost).
//
// Termination and bounds: every loop takes at least one byte from a reader, a reader never leaves its bytes, and
// its end is sticky (`bad`). Arithmetic is unsigned: garbage wraps instead of being undefined.
#include "rt/cfi.h"

#define REG_BP 6
#define REG_SP 7
#define REG_PC 16

#define PE_OMIT     0xff
#define PE_INDIRECT 0x80
#define PE_FORMAT   0x0f
#define PE_BASE     0x70

enum { PE_ABSOLUTE = 0, PE_PCREL = 0x10, PE_DATAREL = 0x30, PE_ALIGNED = 0x50 };
enum { PE_ULEB = 1, PE_U2 = 2, PE_U4 = 3, PE_U8 = 4, PE_SLEB = 9, PE_S2 = 10, PE_S4 = 11, PE_S8 = 12 };

#define MOST_REMEMBERED 8
#define MOST_OPERANDS   8

// ---- bytes ---------------------------------------------------------------------------------------------------

struct reader {
    const uint8_t *at, *end;
    bool bad; // read past the end, or saw what cannot be
};

static size_t left(const struct reader *r)
{
    return (size_t)(r->end - r->at);
}

static uint64_t fail(struct reader *r)
{
    r->bad = true;
    r->at = r->end;
    return 0;
}

static uint64_t take(struct reader *r, unsigned bytes)
{
    uint64_t value = 0;

    if (left(r) < bytes)
        return fail(r);
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)r->at[i] << 8 * i;
    r->at += bytes;
    return value;
}

static uint64_t take_signed(struct reader *r, unsigned bytes)
{
    const unsigned unused = 64 - 8 * bytes;

    return (uint64_t)((int64_t)(take(r, bytes) << unused) >> unused);
}

static uint64_t leb(struct reader *r, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        if (r->at == r->end || shift > 63)
            return fail(r);
        byte = *r->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (is_signed && shift < 64 && byte & 0x40)
        value |= ~UINT64_C(0) << shift;
    return value;
}

static void skip(struct reader *r, uint64_t bytes)
{
    if (bytes > left(r))
        fail(r);
    else
        r->at += bytes;
}

// The next `bytes` bytes as a reader of their own.
static struct reader part(struct reader *r, uint64_t bytes)
{
    struct reader p = {r->at, r->at, false};

    skip(r, bytes);
    if (r->bad)
        p.bad = true;
    else
        p.end = r->at;
    return p;
}

// An encoded pointer. Relative to text or function start, and indirect, are never used for what we read.
static uintptr_t pointer(struct reader *r, uint8_t encoding, uintptr_t data)
{
    const uintptr_t here = (uintptr_t)r->at;
    uint64_t value;

    if (encoding == PE_ALIGNED) {
        skip(r, -here & 7);
        return take(r, 8);
    }
    switch (encoding & PE_FORMAT) {
    case PE_ABSOLUTE:
    case PE_U8:
    case PE_S8:
        value = take(r, 8);
        break;
    case PE_ULEB:
        value = leb(r, false);
        break;
    case PE_SLEB:
        value = leb(r, true);
        break;
    case PE_U2:
        value = take(r, 2);
        break;
    case PE_U4:
        value = take(r, 4);
        break;
    case PE_S2:
        value = take_signed(r, 2);
        break;
    case PE_S4:
        value = take_signed(r, 4);
        break;
    default:
        return fail(r);
    }
    if (encoding & PE_INDIRECT)
        return fail(r);
    if (value == 0) // "none" in every encoding
        return 0;
    switch (encoding & PE_BASE) {
    case PE_ABSOLUTE:
        return value;
    case PE_PCREL:
        return here + value;
    case PE_DATAREL:
        return data ? data + value : fail(r);
    default:
        return fail(r);
    }
}

// ---- places --------------------------------------------------------------------------------------------------

enum base { BASE_NONE, BASE_SP, BASE_BP, BASE_CFA };

// base + at, or *(base + at) + add
struct place {
    enum base base;
    bool loaded, known;
    uint64_t at, add;
};

enum where_kind { WHERE_UNSET, WHERE_SAME, WHERE_UNDEFINED, WHERE_AT, WHERE_OTHER };

struct where {
    enum where_kind kind;
    struct place place; // WHERE_AT: address of the saved register
};

struct row {
    struct place cfa;
    struct where bp, pc;
};

static struct place constant(uint64_t value)
{
    return (struct place){.known = true, .at = value};
}

static struct place register_plus(uint64_t reg, uint64_t offset, uintptr_t pc)
{
    struct place p = constant(offset);

    if (reg == REG_SP)
        p.base = BASE_SP;
    else if (reg == REG_BP)
        p.base = BASE_BP;
    else if (reg == REG_PC)
        p.at += pc;
    else
        p.known = false;
    return p;
}

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

// left op right; only sums may have a base.
static bool binary(uint8_t op, struct place *a, const struct place *b)
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

// Evaluates an expression; .known is false if it is more than a place can say.
static struct place evaluate(struct reader *e, bool with_cfa, uintptr_t pc)
{
    static const struct place unknown;
    struct place stack[MOST_OPERANDS];
    unsigned depth = 0;

    if (with_cfa)
        stack[depth++] = (struct place){.base = BASE_CFA, .known = true};
    while (e->at < e->end) {
        const uint8_t op = (uint8_t)take(e, 1);
        if (op == OP_NOP)
            continue;
        if (op == OP_DEREF || op == OP_PLUS_UCONST) { // one operand
            if (depth < 1)
                return unknown;
            struct place *top = &stack[depth - 1];
            if (op == OP_PLUS_UCONST)
                add_to(top, leb(e, false));
            else if (top->loaded || top->base == BASE_NONE)
                return unknown;
            else
                top->loaded = true;
        } else if (op == OP_AND || op == OP_MINUS || op == OP_OR || op == OP_PLUS || op == OP_SHL ||
                   op == OP_GE) { // two
            if (depth < 2 || !binary(op, &stack[depth - 2], &stack[depth - 1]))
                return unknown;
            depth--;
        } else { // none
            struct place value;
            if (op >= OP_LIT0 && op < OP_LIT0 + 32) {
                value = constant(op - OP_LIT0);
            } else if (op >= OP_BREG0 && op <= OP_BREG31) {
                value = register_plus(op - OP_BREG0, leb(e, true), pc);
            } else if (op == OP_BREGX) {
                const uint64_t reg = leb(e, false);
                value = register_plus(reg, leb(e, true), pc);
            } else if (op >= OP_CONST1U && op <= OP_CONST8S) {
                const unsigned bytes = 1u << (op - OP_CONST1U) / 2;
                value = constant(op % 2 ? take_signed(e, bytes) : take(e, bytes));
            } else if (op == OP_CONSTU || op == OP_CONSTS) {
                value = constant(leb(e, op == OP_CONSTS));
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

// ---- entries -------------------------------------------------------------------------------------------------

// A common information entry (CIE): what many entries (FDE) share.
struct common {
    uint64_t code_align, data_align, pc_register;
    uint8_t pointers; // encoding
    bool sized;       // augmentation data has a length
    bool signal;
    struct reader program;
};

// The body of the entry that begins at r; false at the terminator.
static bool body_of(struct reader *r, struct reader *body)
{
    uint64_t length = take(r, 4);

    if (length == 0xffffffff)
        length = take(r, 8);
    if (r->bad || length == 0)
        return false;
    *body = part(r, length);
    return !body->bad;
}

static bool read_augmentation(struct common *c, struct reader *name, struct reader *data)
{
    if (name->at == name->end)
        return true;
    if (take(name, 1) != 'z')
        return false;
    c->sized = true;
    while (name->at < name->end) {
        switch (take(name, 1)) {
        case 'R':
            c->pointers = (uint8_t)take(data, 1);
            break;
        case 'L':
            take(data, 1);
            break;
        case 'P': {
            const uint8_t encoding = (uint8_t)take(data, 1);
            if (encoding != PE_OMIT)
                pointer(data, encoding == PE_ALIGNED ? encoding : encoding & PE_FORMAT, 0);
            break;
        }
        case 'S':
            c->signal = true;
            break;
        default:
            return false;
        }
    }
    return !data->bad;
}

static bool read_common(struct reader *r, struct common *c)
{
    struct reader name, data = {0};

    *c = (struct common){.pointers = PE_ABSOLUTE};
    const uint8_t version = (uint8_t)take(r, 1);
    if (version != 1 && version != 3 && version != 4)
        return false;
    name.at = r->at;
    name.bad = false;
    while (take(r, 1) != 0)
        ;
    if (r->bad)
        return false;
    name.end = r->at - 1;
    if (version == 4 && (take(r, 1) != 8 || take(r, 1) != 0)) // sizes of addresses and segments
        return false;
    c->code_align = leb(r, false);
    c->data_align = leb(r, true);
    c->pc_register = version == 1 ? take(r, 1) : leb(r, false);
    if (name.at < name.end && *name.at == 'z')
        data = part(r, leb(r, false));
    if (r->bad || data.bad || !read_augmentation(c, &name, &data))
        return false;
    c->program = *r;
    return c->pc_register == REG_PC;
}

// ---- the program ---------------------------------------------------------------------------------------------

enum {
    CFA_NOP = 0x00,
    CFA_SET_LOC = 0x01,
    CFA_ADVANCE1 = 0x02,
    CFA_ADVANCE2 = 0x03,
    CFA_ADVANCE4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME = 0x08,
    CFA_REGISTER = 0x09,
    CFA_REMEMBER = 0x0a,
    CFA_RECALL = 0x0b,
    CFA_DEF_CFA = 0x0c,
    CFA_DEF_CFA_REGISTER = 0x0d,
    CFA_DEF_CFA_OFFSET = 0x0e,
    CFA_DEF_CFA_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEF_CFA_SF = 0x12,
    CFA_DEF_CFA_OFFSET_SF = 0x13,
    CFA_VAL_OFFSET = 0x14,
    CFA_VAL_OFFSET_SF = 0x15,
    CFA_VAL_EXPRESSION = 0x16,
    CFA_ADVANCE8 = 0x1d,
    CFA_ARGS_SIZE = 0x2e,
    CFA_NEGATIVE_OFFSET_EXTENDED = 0x2f,
    // operand in the low six bits
    CFA_ADVANCE = 0x40,
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
};

struct machine {
    const struct common *common;
    uintptr_t location, pc; // of the row; asked for
    struct row row, initial;
    struct row remembered[MOST_REMEMBERED];
    unsigned depth;
};

static void set(struct machine *m, uint64_t reg, struct where where)
{
    if (reg == REG_BP)
        m->row.bp = where;
    else if (reg == REG_PC)
        m->row.pc = where;
}

static void set_kind(struct machine *m, uint64_t reg, enum where_kind kind)
{
    set(m, reg, (struct where){.kind = kind});
}

static void set_at_cfa(struct machine *m, uint64_t reg, uint64_t offset)
{
    set(m, reg, (struct where){WHERE_AT, {.base = BASE_CFA, .known = true, .at = offset}});
}

static void restore(struct machine *m, uint64_t reg)
{
    set(m, reg, reg == REG_BP ? m->initial.bp : m->initial.pc);
}

static void set_cfa_register(struct machine *m, uint64_t reg)
{
    const bool defined = reg != REG_PC && !m->row.cfa.loaded;

    m->row.cfa = register_plus(reg, m->row.cfa.at, 0);
    m->row.cfa.known &= defined;
}

static void set_cfa_offset(struct machine *m, uint64_t offset)
{
    m->row.cfa.at = offset;
    m->row.cfa.known &= !m->row.cfa.loaded;
}

// Those that say where a register is.
static bool register_instruction(struct machine *m, struct reader *r, uint8_t op)
{
    const uint64_t reg = leb(r, false), scale = m->common->data_align;

    switch (op) {
    case CFA_OFFSET_EXTENDED:
        set_at_cfa(m, reg, leb(r, false) * scale);
        return true;
    case CFA_OFFSET_EXTENDED_SF:
        set_at_cfa(m, reg, leb(r, true) * scale);
        return true;
    case CFA_NEGATIVE_OFFSET_EXTENDED:
        set_at_cfa(m, reg, -(leb(r, false) * scale));
        return true;
    case CFA_RESTORE_EXTENDED:
        restore(m, reg);
        return true;
    case CFA_UNDEFINED:
        set_kind(m, reg, WHERE_UNDEFINED);
        return true;
    case CFA_SAME:
        set_kind(m, reg, WHERE_SAME);
        return true;
    case CFA_REGISTER:
    case CFA_VAL_OFFSET:
    case CFA_VAL_OFFSET_SF:
        leb(r, false);
        set_kind(m, reg, WHERE_OTHER);
        return true;
    case CFA_VAL_EXPRESSION:
        skip(r, leb(r, false));
        set_kind(m, reg, WHERE_OTHER);
        return true;
    case CFA_EXPRESSION: {
        struct reader e = part(r, leb(r, false));
        const struct place place = evaluate(&e, true, m->pc);
        set(m, reg, (struct where){place.known && !place.loaded ? WHERE_AT : WHERE_OTHER, place});
        return true;
    }
    default:
        return false;
    }
}

// Those that say where the CFA is.
static bool cfa_instruction(struct machine *m, struct reader *r, uint8_t op)
{
    const uint64_t scale = m->common->data_align;

    switch (op) {
    case CFA_DEF_CFA:
    case CFA_DEF_CFA_SF:
        m->row.cfa.loaded = false;
        set_cfa_register(m, leb(r, false));
        set_cfa_offset(m, op == CFA_DEF_CFA ? leb(r, false) : leb(r, true) * scale);
        return true;
    case CFA_DEF_CFA_REGISTER:
        set_cfa_register(m, leb(r, false));
        return true;
    case CFA_DEF_CFA_OFFSET:
        set_cfa_offset(m, leb(r, false));
        return true;
    case CFA_DEF_CFA_OFFSET_SF:
        set_cfa_offset(m, leb(r, true) * scale);
        return true;
    case CFA_DEF_CFA_EXPRESSION: {
        struct reader e = part(r, leb(r, false));
        m->row.cfa = evaluate(&e, false, m->pc);
        return true;
    }
    default:
        return false;
    }
}

// Those that move on to the next row. The row for pc is the last that begins at or before it.
static bool advance_instruction(struct machine *m, struct reader *r, uint8_t op)
{
    const uint64_t scale = m->common->code_align;

    switch (op) {
    case CFA_SET_LOC:
        m->location = pointer(r, m->common->pointers, 0);
        return true;
    case CFA_ADVANCE1:
        m->location += take(r, 1) * scale;
        return true;
    case CFA_ADVANCE2:
        m->location += take(r, 2) * scale;
        return true;
    case CFA_ADVANCE4:
        m->location += take(r, 4) * scale;
        return true;
    case CFA_ADVANCE8:
        m->location += take(r, 8) * scale;
        return true;
    default:
        return false;
    }
}

static bool other_instruction(struct machine *m, struct reader *r, uint8_t op)
{
    switch (op) {
    case CFA_NOP:
        return true;
    case CFA_ARGS_SIZE:
        leb(r, false);
        return true;
    case CFA_REMEMBER:
        if (m->depth == MOST_REMEMBERED)
            return false;
        m->remembered[m->depth++] = m->row;
        return true;
    case CFA_RECALL:
        if (m->depth == 0)
            return false;
        m->row = m->remembered[--m->depth];
        return true;
    default:
        return false;
    }
}

// Runs the program until the row for pc is complete; false if it makes no sense.
static bool run(struct machine *m, struct reader r)
{
    while (r.at < r.end && m->location <= m->pc) {
        const uint8_t op = (uint8_t)take(&r, 1), low = op & 0x3f;
        switch (op & 0xc0) {
        case CFA_ADVANCE:
            m->location += low * m->common->code_align;
            break;
        case CFA_OFFSET:
            set_at_cfa(m, low, leb(&r, false) * m->common->data_align);
            break;
        case CFA_RESTORE:
            restore(m, low);
            break;
        default:
            if (!other_instruction(m, &r, op) && !advance_instruction(m, &r, op) &&
                !cfa_instruction(m, &r, op) && !register_instruction(m, &r, op))
                return false;
        }
        if (r.bad)
            return false;
    }
    return true;
}

// ---- from row to rule ----------------------------------------------------------------------------------------

static bool in_range(uint64_t value, int64_t low, int64_t high)
{
    return (int64_t)value >= low && (int64_t)value <= high;
}

static bool is_at(const struct where *w, enum base base, uint64_t offset)
{
    return w->kind == WHERE_AT && w->place.base == base && w->place.at == offset;
}

static enum rb_rule_kind kind_of(const struct row *row, bool signal)
{
    const struct place *cfa = &row->cfa;

    if (row->pc.kind == WHERE_UNDEFINED)
        return RB_RULE_OUTERMOST;
    if (!cfa->known || (cfa->base != BASE_SP && cfa->base != BASE_BP) || !in_range(cfa->at, INT32_MIN, INT32_MAX))
        return RB_RULE_STOP;
    if (signal) {
        const bool ucontext = cfa->base == BASE_SP && cfa->loaded && cfa->add == 0 &&
                              is_at(&row->pc, BASE_SP, cfa->at + RB_SIGNAL_PC) &&
                              is_at(&row->bp, BASE_SP, cfa->at + (uint64_t)RB_SIGNAL_BP);
        return ucontext ? RB_RULE_SIGNAL : RB_RULE_STOP;
    }
    if (!is_at(&row->pc, BASE_CFA, (uint64_t)-8))
        return RB_RULE_STOP;
    if (!cfa->loaded)
        return RB_RULE_CFA;
    return cfa->add % 8 == 0 && cfa->add <= RB_RULE_MOST_ADD ? RB_RULE_DEREF : RB_RULE_STOP;
}

static enum rb_rule_bp bp_of(const struct where *bp)
{
    const struct place *place = &bp->place;

    if (bp->kind == WHERE_UNSET || bp->kind == WHERE_SAME)
        return RB_RULE_BP_SAME;
    if (bp->kind != WHERE_AT || place->at % 8 != 0 ||
        !in_range(place->at, -RB_RULE_MOST_BP_AT, RB_RULE_MOST_BP_AT))
        return RB_RULE_BP_LOST;
    if (place->base == BASE_CFA)
        return RB_RULE_BP_AT_CFA;
    return place->base == BASE_BP ? RB_RULE_BP_AT_BP : RB_RULE_BP_LOST;
}

static uint64_t rule_of(const struct row *row, bool signal)
{
    struct rb_rule rule = {.kind = kind_of(row, signal)};

    if (rule.kind == RB_RULE_STOP || rule.kind == RB_RULE_OUTERMOST)
        return rb_rule_pack(&rule);
    rule.cfa_at = (int32_t)row->cfa.at;
    if (rule.kind != RB_RULE_SIGNAL) {
        rule.from_bp = row->cfa.base == BASE_BP;
        rule.add = row->cfa.loaded ? (int32_t)row->cfa.add : 0;
        rule.bp = bp_of(&row->bp);
        if (rule.bp == RB_RULE_BP_AT_CFA || rule.bp == RB_RULE_BP_AT_BP)
            rule.bp_at = (int32_t)row->bp.place.at;
    }
    return rb_rule_pack(&rule);
}

// ---- finding -------------------------------------------------------------------------------------------------

static bool inside(struct rb_cfi_bytes bytes, uintptr_t address)
{
    return address >= (uintptr_t)bytes.lo && address < (uintptr_t)bytes.hi;
}

static struct reader reader_at(struct rb_cfi_bytes bytes, uintptr_t address)
{
    return (struct reader){bytes.lo + (address - (uintptr_t)bytes.lo), bytes.hi, false};
}

// The rule of one entry, given its body; NOWHERE if it is a common one or does not describe pc.
static uint64_t rule_of_entry(struct rb_cfi_bytes bytes, struct reader body, uintptr_t pc)
{
    const uint64_t nowhere = RB_RULE_NOWHERE, stop = RB_RULE_STOP;
    const uintptr_t field = (uintptr_t)body.at;
    struct reader common_body;
    struct common common;

    const uint64_t back = take(&body, 4);
    if (body.bad || back == 0 || back > field || !inside(bytes, field - back))
        return nowhere;
    struct reader r = reader_at(bytes, field - back);
    if (!body_of(&r, &common_body) || take(&common_body, 4) != 0 || !read_common(&common_body, &common))
        return nowhere;
    const uintptr_t begin = pointer(&body, common.pointers, 0);
    const uintptr_t size = pointer(&body, common.pointers & PE_FORMAT, 0);
    if (body.bad || pc < begin || pc - begin >= size)
        return nowhere;
    if (common.sized)
        skip(&body, leb(&body, false));
    if (body.bad)
        return stop;
    struct machine m; // too large to be cleared as a whole, and need not be
    m.common = &common;
    m.pc = pc;
    m.location = 0;
    m.depth = 0;
    m.row = m.initial = (struct row){0};
    if (!run(&m, common.program))
        return stop;
    m.initial = m.row;
    m.location = begin;
    m.depth = 0;
    return run(&m, body) ? rule_of(&m.row, common.signal) : stop;
}

uint64_t rb_cfi_rule(struct rb_cfi_bytes bytes, uintptr_t entry, uintptr_t pc)
{
    struct reader body;

    if (!inside(bytes, entry))
        return RB_RULE_STOP;
    struct reader r = reader_at(bytes, entry);
    if (!body_of(&r, &body))
        return RB_RULE_STOP;
    const uint64_t rule = rule_of_entry(bytes, body, pc);
    return rule == RB_RULE_NOWHERE ? RB_RULE_STOP : rule;
}

uint64_t rb_cfi_scan(struct rb_cfi_bytes bytes, uintptr_t entries, uintptr_t pc)
{
    struct reader body;

    if (!inside(bytes, entries))
        return RB_RULE_STOP;
    for (struct reader r = reader_at(bytes, entries); body_of(&r, &body);) {
        const uint64_t rule = rule_of_entry(bytes, body, pc);
        if (rule != RB_RULE_NOWHERE)
            return rule;
    }
    return RB_RULE_STOP;
}

// The table's last entry that begins at or before pc, by halving.
static enum rb_cfi_found search_table(struct reader table, uint64_t count, uint8_t encoding, uintptr_t data,
                                      uintptr_t pc, uintptr_t *address)
{
    static const uint8_t sizes[16] = {8, 0, 2, 4, 8, [PE_S2] = 2, [PE_S4] = 4, [PE_S8] = 8};
    const unsigned size = sizes[encoding & PE_FORMAT];
    uint64_t low = 0, high = count; // begin(low - 1) <= pc < begin(high)

    if (size == 0) // entries of any length cannot be halved
        return RB_CFI_SCAN;
    if (count > left(&table) / (2 * size))
        return RB_CFI_NONE;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        struct reader r = {table.at + middle * 2 * size, table.end, false};
        const uintptr_t begin = pointer(&r, encoding, data);
        if (r.bad)
            return RB_CFI_NONE;
        if (begin <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0)
        return RB_CFI_NONE;
    struct reader r = {table.at + (low - 1) * 2 * size + size, table.end, false};
    *address = pointer(&r, encoding, data);
    return r.bad ? RB_CFI_NONE : RB_CFI_ENTRY;
}

enum rb_cfi_found rb_cfi_search(struct rb_cfi_bytes bytes, uintptr_t pc, uintptr_t *address)
{
    const uintptr_t data = (uintptr_t)bytes.lo;
    struct reader r = {bytes.lo, bytes.hi, false};

    const uint8_t version = (uint8_t)take(&r, 1), entries_encoding = (uint8_t)take(&r, 1),
                  count_encoding = (uint8_t)take(&r, 1), table_encoding = (uint8_t)take(&r, 1);
    if (r.bad || version != 1 || entries_encoding == PE_OMIT)
        return RB_CFI_NONE;
    *address = pointer(&r, entries_encoding, data);
    if (r.bad)
        return RB_CFI_NONE;
    if (count_encoding == PE_OMIT || table_encoding == PE_OMIT)
        return RB_CFI_SCAN;
    const uint64_t count = pointer(&r, count_encoding, data);
    if (r.bad)
        return RB_CFI_NONE;
    return search_table(r, count, table_encoding, data, pc, address);
}
