// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The interpreter keeps one row: how to find the CFA, the return address and rbp. Instructions for other
// registers are skipped. A row that a rule cannot express gives the rule STOP (or an rbp that is lost).
//
// Termination: every loop takes at least one byte from a reader, and readers end.
#include "inproc/cfi.h"

#include "inproc/cfi_place.h"

#define MOST_REMEMBERED 8

// ---- rows ----------------------------------------------------------------------------------------------

enum where_kind { WHERE_UNSET, WHERE_SAME, WHERE_UNDEFINED, WHERE_AT, WHERE_OTHER };

struct where {
    enum where_kind kind;
    struct place place; // WHERE_AT: address of the saved register
};

struct row {
    struct place cfa;
    struct where bp, pc;
};

// ---- entries -------------------------------------------------------------------------------------------

// A common information entry (CIE): the part that many entries (FDE) share.
struct common {
    uint64_t code_align, data_align, pc_register;
    uint8_t pointers; // encoding
    bool sized;       // augmentation data has a length
    bool signal;
    struct reader program;
};

// Finds the body of the entry that begins at r. Returns false at the terminator.
static bool body_of(struct reader *r, struct reader *body)
{
    uint64_t length = reader_take(r, 4);

    if (length == 0xffffffff)
        length = reader_take(r, 8);
    if (r->bad || length == 0)
        return false;
    *body = reader_part(r, length);
    return !body->bad;
}

static bool read_augmentation(struct common *c, struct reader *name, struct reader *data)
{
    if (name->at == name->end)
        return true;
    if (reader_take(name, 1) != 'z')
        return false;
    c->sized = true;
    while (name->at < name->end) {
        switch (reader_take(name, 1)) {
        case 'R':
            c->pointers = (uint8_t)reader_take(data, 1);
            break;
        case 'L':
            reader_take(data, 1);
            break;
        case 'P': {
            const uint8_t encoding = (uint8_t)reader_take(data, 1);
            if (encoding != PE_OMIT)
                reader_pointer(data, encoding == PE_ALIGNED ? encoding : encoding & PE_FORMAT, 0);
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
    const uint8_t version = (uint8_t)reader_take(r, 1);
    if (version != 1 && version != 3 && version != 4)
        return false;
    name.at = r->at;
    name.bad = false;
    while (reader_take(r, 1) != 0)
        ;
    if (r->bad)
        return false;
    name.end = r->at - 1;
    if (version == 4 && (reader_take(r, 1) != 8 || reader_take(r, 1) != 0)) // sizes of addresses and segments
        return false;
    c->code_align = reader_leb(r, false);
    c->data_align = reader_leb(r, true);
    c->pc_register = version == 1 ? reader_take(r, 1) : reader_leb(r, false);
    if (name.at < name.end && *name.at == 'z')
        data = reader_part(r, reader_leb(r, false));
    if (r->bad || data.bad || !read_augmentation(c, &name, &data))
        return false;
    c->program = *r;
    return c->pc_register == REG_PC;
}

// ---- the program ---------------------------------------------------------------------------------------

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
    uintptr_t location, pc; // of the row; and the pc that the caller looks for
    struct row row, initial;
    struct row remembered[MOST_REMEMBERED];
    unsigned depth;
};

static void set_register(struct machine *m, uint64_t reg, struct where where)
{
    if (reg == REG_BP)
        m->row.bp = where;
    else if (reg == REG_PC)
        m->row.pc = where;
}

static void set_kind(struct machine *m, uint64_t reg, enum where_kind kind)
{
    set_register(m, reg, (struct where){.kind = kind});
}

static void set_at_cfa(struct machine *m, uint64_t reg, uint64_t offset)
{
    set_register(m, reg, (struct where){WHERE_AT, {.base = BASE_CFA, .known = true, .at = offset}});
}

static void restore_register(struct machine *m, uint64_t reg)
{
    set_register(m, reg, reg == REG_BP ? m->initial.bp : m->initial.pc);
}

static void set_cfa_register(struct machine *m, uint64_t reg)
{
    const bool defined = reg != REG_PC && !m->row.cfa.loaded;

    m->row.cfa = place_register(reg, m->row.cfa.at, 0);
    m->row.cfa.known &= defined;
}

static void set_cfa_offset(struct machine *m, uint64_t offset)
{
    m->row.cfa.at = offset;
    m->row.cfa.known &= !m->row.cfa.loaded;
}

// Runs the instructions that set the location of a register.
static bool register_instruction(struct machine *m, struct reader *r, uint8_t op)
{
    const uint64_t reg = reader_leb(r, false), scale = m->common->data_align;

    switch (op) {
    case CFA_OFFSET_EXTENDED:
        set_at_cfa(m, reg, reader_leb(r, false) * scale);
        return true;
    case CFA_OFFSET_EXTENDED_SF:
        set_at_cfa(m, reg, reader_leb(r, true) * scale);
        return true;
    case CFA_NEGATIVE_OFFSET_EXTENDED:
        set_at_cfa(m, reg, -(reader_leb(r, false) * scale));
        return true;
    case CFA_RESTORE_EXTENDED:
        restore_register(m, reg);
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
        reader_leb(r, false);
        set_kind(m, reg, WHERE_OTHER);
        return true;
    case CFA_VAL_EXPRESSION:
        reader_skip(r, reader_leb(r, false));
        set_kind(m, reg, WHERE_OTHER);
        return true;
    case CFA_EXPRESSION: {
        struct reader e = reader_part(r, reader_leb(r, false));
        const struct place place = rb_cfi_evaluate(&e, true, m->pc);
        set_register(m, reg, (struct where){place.known && !place.loaded ? WHERE_AT : WHERE_OTHER, place});
        return true;
    }
    default:
        return false;
    }
}

// Runs the instructions that set the location of the CFA.
static bool cfa_instruction(struct machine *m, struct reader *r, uint8_t op)
{
    const uint64_t scale = m->common->data_align;

    switch (op) {
    case CFA_DEF_CFA:
    case CFA_DEF_CFA_SF:
        m->row.cfa.loaded = false;
        set_cfa_register(m, reader_leb(r, false));
        set_cfa_offset(m, op == CFA_DEF_CFA ? reader_leb(r, false) : reader_leb(r, true) * scale);
        return true;
    case CFA_DEF_CFA_REGISTER:
        set_cfa_register(m, reader_leb(r, false));
        return true;
    case CFA_DEF_CFA_OFFSET:
        set_cfa_offset(m, reader_leb(r, false));
        return true;
    case CFA_DEF_CFA_OFFSET_SF:
        set_cfa_offset(m, reader_leb(r, true) * scale);
        return true;
    case CFA_DEF_CFA_EXPRESSION: {
        struct reader e = reader_part(r, reader_leb(r, false));
        m->row.cfa = rb_cfi_evaluate(&e, false, m->pc);
        return true;
    }
    default:
        return false;
    }
}

// Runs the instructions that move on to the next row. The row for pc is the last that begins at or before
// it.
static bool advance_instruction(struct machine *m, struct reader *r, uint8_t op)
{
    const uint64_t scale = m->common->code_align;

    switch (op) {
    case CFA_SET_LOC:
        m->location = reader_pointer(r, m->common->pointers, 0);
        return true;
    case CFA_ADVANCE1:
        m->location += reader_take(r, 1) * scale;
        return true;
    case CFA_ADVANCE2:
        m->location += reader_take(r, 2) * scale;
        return true;
    case CFA_ADVANCE4:
        m->location += reader_take(r, 4) * scale;
        return true;
    case CFA_ADVANCE8:
        m->location += reader_take(r, 8) * scale;
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
        reader_leb(r, false);
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

// Runs the program until the row for pc is complete. Returns false if it is malformed.
static bool run_program(struct machine *m, struct reader r)
{
    while (r.at < r.end && m->location <= m->pc) {
        const uint8_t op = (uint8_t)reader_take(&r, 1), low = op & 0x3f;
        switch (op & 0xc0) {
        case CFA_ADVANCE:
            m->location += low * m->common->code_align;
            break;
        case CFA_OFFSET:
            set_at_cfa(m, low, reader_leb(&r, false) * m->common->data_align);
            break;
        case CFA_RESTORE:
            restore_register(m, low);
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

// ---- from row to rule ----------------------------------------------------------------------------------

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
    if (!cfa->known || (cfa->base != BASE_SP && cfa->base != BASE_BP) ||
        !in_range(cfa->at, INT32_MIN, INT32_MAX))
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

// ---- finding -------------------------------------------------------------------------------------------

static bool is_inside(struct rb_cfi_bytes bytes, uintptr_t address)
{
    return address >= (uintptr_t)bytes.lo && address < (uintptr_t)bytes.hi;
}

static struct reader reader_at(struct rb_cfi_bytes bytes, uintptr_t address)
{
    return (struct reader){bytes.lo + (address - (uintptr_t)bytes.lo), bytes.hi, false};
}

// Returns the rule of one entry, given its body; NOWHERE if it is a common one or does not describe pc.
static uint64_t rule_of_entry(struct rb_cfi_bytes bytes, struct reader body, uintptr_t pc)
{
    const uint64_t nowhere = RB_RULE_NOWHERE, stop = RB_RULE_STOP;
    const uintptr_t field = (uintptr_t)body.at;
    struct reader common_body;
    struct common common;

    const uint64_t back = reader_take(&body, 4);
    if (body.bad || back == 0 || back > field || !is_inside(bytes, field - back))
        return nowhere;
    struct reader r = reader_at(bytes, field - back);
    if (!body_of(&r, &common_body) || reader_take(&common_body, 4) != 0 ||
        !read_common(&common_body, &common))
        return nowhere;
    const uintptr_t begin = reader_pointer(&body, common.pointers, 0);
    const uintptr_t size = reader_pointer(&body, common.pointers & PE_FORMAT, 0);
    if (body.bad || pc < begin || pc - begin >= size)
        return nowhere;
    if (common.sized)
        reader_skip(&body, reader_leb(&body, false));
    if (body.bad)
        return stop;
    struct machine m; // too large to be cleared as a whole, which is not needed
    m.common = &common;
    m.pc = pc;
    m.location = 0;
    m.depth = 0;
    m.row = m.initial = (struct row){0};
    if (!run_program(&m, common.program))
        return stop;
    m.initial = m.row;
    m.location = begin;
    m.depth = 0;
    return run_program(&m, body) ? rule_of(&m.row, common.signal) : stop;
}

uint64_t rb_cfi_rule(struct rb_cfi_bytes bytes, uintptr_t entry, uintptr_t pc)
{
    struct reader body;

    if (!is_inside(bytes, entry))
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

    if (!is_inside(bytes, entries))
        return RB_RULE_STOP;
    for (struct reader r = reader_at(bytes, entries); body_of(&r, &body);) {
        const uint64_t rule = rule_of_entry(bytes, body, pc);
        if (rule != RB_RULE_NOWHERE)
            return rule;
    }
    return RB_RULE_STOP;
}

// Finds the table's last entry that begins at or before pc, by halving.
static enum rb_cfi_found search_table(struct reader table, uint64_t count, uint8_t encoding, uintptr_t data,
                                      uintptr_t pc, uintptr_t *address)
{
    static const uint8_t sizes[16] = {8, 0, 2, 4, 8, [PE_S2] = 2, [PE_S4] = 4, [PE_S8] = 8};
    const unsigned size = sizes[encoding & PE_FORMAT];
    uint64_t low = 0, high = count; // begin(low - 1) <= pc < begin(high)

    if (size == 0) // entries of any length cannot be halved
        return RB_CFI_SCAN;
    if (count > reader_left(&table) / (2 * size))
        return RB_CFI_NONE;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        struct reader r = {table.at + middle * 2 * size, table.end, false};
        const uintptr_t begin = reader_pointer(&r, encoding, data);
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
    *address = reader_pointer(&r, encoding, data);
    return r.bad ? RB_CFI_NONE : RB_CFI_ENTRY;
}

enum rb_cfi_found rb_cfi_search(struct rb_cfi_bytes bytes, uintptr_t pc, uintptr_t *address)
{
    const uintptr_t data = (uintptr_t)bytes.lo;
    struct reader r = {bytes.lo, bytes.hi, false};

    const uint8_t version = (uint8_t)reader_take(&r, 1), entries_encoding = (uint8_t)reader_take(&r, 1),
                  count_encoding = (uint8_t)reader_take(&r, 1), table_encoding = (uint8_t)reader_take(&r, 1);
    if (r.bad || version != 1 || entries_encoding == PE_OMIT)
        return RB_CFI_NONE;
    *address = reader_pointer(&r, entries_encoding, data);
    if (r.bad)
        return RB_CFI_NONE;
    if (count_encoding == PE_OMIT || table_encoding == PE_OMIT)
        return RB_CFI_SCAN;
    const uint64_t count = reader_pointer(&r, count_encoding, data);
    if (r.bad)
        return RB_CFI_NONE;
    return search_table(r, count, table_encoding, data, pc, address);
}
