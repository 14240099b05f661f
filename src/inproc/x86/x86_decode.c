// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "inproc/x86/x86_decode.h"

// ---- the table -----------------------------------------------------------------------------------------

// Columns of x86_opcodes.def.
enum { OLD = 1, VEX = 2, BOTH = 3 };
enum { N = 1, O = 2, S = 4, D = 8, ANY = 15 };
enum { ALL = 0xff };
#define REG(n) (1 << (n))
enum operand { NO, RM, RR, AT };
enum immediate { I0, I1, I2, I3, IZ, IV, J1, J4 };
enum access { NONE, GETS, PUTS, BOTH_WAYS, OPEN };
enum size { V = 0x80, Y, P, X, XM, SC, H, Q, E, PAIR };
enum {
    PLAIN = 1 << 0,
    LOCKS = 1 << 1, // takes the lock prefix
    SWAPS = 1 << 2, // is atomic without it
    STACK = 1 << 3,
    STRING = 1 << 4,
    SPREAD = 1 << 5,
    JUMP = 1 << 6,
    BRANCH = 1 << 7,
    CALL = 1 << 8,
    RETURN = 1 << 9,
    SYSTEM = 1 << 10,
    G = 1 << 11,
    T = 1 << 12,
    A = 1 << 13,
    C = 1 << 14,
    BYTE = 1 << 15,
    PART = 1 << 16,
};

struct opcode {
    uint8_t from, to, encodings, prefixes, regs, operand, immediate, access, size;
    uint32_t flags;
};

#define OPCODE(map, from, to, encodings, prefixes, regs, operand, immediate, access, size, flags) \
    ROW_##map(from, to, encodings, prefixes, regs, operand, immediate, access, size, flags)
#define ROW(...) {__VA_ARGS__},
#define NO_ROW(...)

#define ROW_0 ROW
#define ROW_1 NO_ROW
#define ROW_2 NO_ROW
#define ROW_3 NO_ROW
static const struct opcode one_byte[] = {
#include "inproc/x86/x86_opcodes.def"
};
#undef ROW_0
#undef ROW_1
#define ROW_0 NO_ROW
#define ROW_1 ROW
static const struct opcode after_0f[] = {
#include "inproc/x86/x86_opcodes.def"
};
#undef ROW_1
#undef ROW_2
#define ROW_1 NO_ROW
#define ROW_2 ROW
static const struct opcode after_0f38[] = {
#include "inproc/x86/x86_opcodes.def"
};
#undef ROW_2
#undef ROW_3
#define ROW_2 NO_ROW
#define ROW_3 ROW
static const struct opcode after_0f3a[] = {
#include "inproc/x86/x86_opcodes.def"
};

#define ROWS(table)                             \
    {                                           \
        table, sizeof(table) / sizeof(*(table)) \
    }
static const struct {
    const struct opcode *row;
    size_t count;
} maps[] = {ROWS(one_byte), ROWS(after_0f), ROWS(after_0f38), ROWS(after_0f3a)};

static const struct opcode *find_row(const struct rb_x86 *x, unsigned reg)
{
    const unsigned encoding = x->encoding == RB_X86_LEGACY ? OLD : VEX;
    const unsigned prefix = x->flags & RB_X86_REP         ? S
                            : x->flags & RB_X86_REPNE     ? D
                            : x->flags & RB_X86_OPERAND16 ? O
                                                          : N;

    for (size_t i = 0; i < maps[x->map].count; i++) {
        const struct opcode *row = &maps[x->map].row[i];
        if (x->opcode >= row->from && x->opcode <= row->to && row->encodings & encoding &&
            row->prefixes & prefix && row->regs & REG(reg))
            return row;
    }
    return NULL;
}

// ---- bytes ---------------------------------------------------------------------------------------------

struct reader {
    const uint8_t *code;
    uint8_t at, end; // at most RB_X86_MOST_BYTES
    bool short_of;   // a byte was asked for beyond the end
    uint8_t rex;     // W R X B as in REX, also for other encodings; R and B may have a fifth bit above
};

static uint8_t peek_byte(struct reader *r)
{
    if (r->at < r->end)
        return r->code[r->at];
    r->short_of = true;
    return 0;
}

static uint8_t take_byte(struct reader *r)
{
    const uint8_t byte = peek_byte(r);

    r->at += !r->short_of;
    return byte;
}

static int64_t take_signed(struct reader *r, unsigned bytes)
{
    uint64_t value = 0;

    if (!bytes)
        return 0;
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)take_byte(r) << 8 * i;
    return (int64_t)(value << (64 - 8 * bytes)) >> (64 - 8 * bytes);
}

// ---- prefixes ------------------------------------------------------------------------------------------

// Notes one of the old prefixes. Returns false if the byte is none. Of F2 and F3 the last one counts.
static bool note_prefix(struct rb_x86 *x, uint8_t byte)
{
    switch (byte) {
    case 0xf0:
        x->flags |= RB_X86_LOCK;
        return true;
    case 0xf2:
        x->flags = (x->flags & ~(uint32_t)RB_X86_REP) | RB_X86_REPNE;
        return true;
    case 0xf3:
        x->flags = (x->flags & ~(uint32_t)RB_X86_REPNE) | RB_X86_REP;
        return true;
    case 0x66:
        x->flags |= RB_X86_OPERAND16;
        return true;
    case 0x67:
        x->flags |= RB_X86_ADDRESS32;
        return true;
    case 0x64:
        x->segment = RB_X86_FS;
        return true;
    case 0x65:
        x->segment = RB_X86_GS;
        return true;
    case 0x26:
    case 0x2e:
    case 0x36:
    case 0x3e:
        return true; // without effect on addresses
    default:
        return false;
    }
}

// REX counts only right before the opcode.
static void read_prefixes(struct reader *r, struct rb_x86 *x)
{
    for (;;) {
        const uint8_t byte = peek_byte(r);
        if (r->short_of)
            return;
        if ((byte & 0xf0) == 0x40) {
            r->rex = byte;
            r->at++;
        } else if (note_prefix(x, byte)) {
            r->rex = 0;
            r->at++;
        } else {
            break;
        }
    }
    x->flags |= (r->rex ? RB_X86_REX : 0) | (r->rex & 8 ? RB_X86_WIDE : 0);
}

// Translates the two bits that stand for a mandatory prefix.
static uint32_t implied_prefix(uint8_t bits)
{
    static const uint32_t flags[4] = {0, RB_X86_OPERAND16, RB_X86_REP, RB_X86_REPNE};

    return flags[bits & 3];
}

// Reads the bytes after C4 or C5, or those after 8F of XOP, which has the layout of C4.
static void read_vex(struct reader *r, struct rb_x86 *x, bool three)
{
    const uint8_t first = take_byte(r), last = three ? take_byte(r) : first;
    const uint8_t inverse = (uint8_t)~first;

    r->rex = three ? (uint8_t)(inverse >> 5 & 7) : (uint8_t)(inverse >> 5 & 4);
    x->map = three ? first & 31 : 1;
    x->flags |=
        implied_prefix(last) | (last & 4 ? RB_X86_LONG : 0) | (three && last & 0x80 ? RB_X86_WIDE : 0);
}

static void read_evex(struct reader *r, struct rb_x86 *x)
{
    const uint8_t first = take_byte(r), second = take_byte(r);

    take_byte(r);
    r->rex = (uint8_t)((uint8_t)~first >> 5 & 7);
    x->map = first & 7;
    x->flags |= implied_prefix(second) | (second & 0x80 ? RB_X86_WIDE : 0);
}

// Reads the bytes that lead to the opcode. Returns false if they are no instruction.
static bool read_map(struct reader *r, struct rb_x86 *x)
{
    const uint32_t before_vex = RB_X86_LOCK | RB_X86_REP | RB_X86_REPNE | RB_X86_OPERAND16 | RB_X86_REX;
    const uint8_t byte = peek_byte(r);

    if (byte == 0x0f) {
        r->at++;
        x->map = 1;
        const uint8_t next = peek_byte(r);
        if (next == 0x38 || next == 0x3a) {
            r->at++;
            x->map = next == 0x38 ? 2 : 3;
        }
    } else if (byte == 0xc4 || byte == 0xc5) {
        r->at++;
        x->encoding = RB_X86_VEX;
    } else if (byte == 0x62) {
        r->at++;
        x->encoding = RB_X86_EVEX;
    } else if (byte == 0x8f && r->at + 1 < r->end && (r->code[r->at + 1] & 31) >= 8) {
        r->at++;
        x->encoding = RB_X86_XOP;
    }
    if (x->encoding != RB_X86_LEGACY && x->flags & before_vex)
        return false;
    if (x->encoding == RB_X86_EVEX)
        read_evex(r, x);
    else if (x->encoding != RB_X86_LEGACY)
        read_vex(r, x, byte != 0xc5);
    return true;
}

// ---- operands ------------------------------------------------------------------------------------------

static void read_displacement(struct reader *r, struct rb_x86 *x, uint8_t bytes)
{
    if (!bytes)
        return;
    x->displacement_at = r->at;
    x->displacement_bytes = bytes;
    x->displacement = take_signed(r, bytes);
}

// Reads ModRM, SIB and displacement. `registers`: ModRM.mod is ignored.
static void read_operand(struct reader *r, struct rb_x86 *x, bool registers)
{
    x->modrm_at = r->at;
    const uint8_t modrm = take_byte(r), mod = modrm >> 6, rm = modrm & 7;
    const uint8_t high_base = r->rex & 1 ? 8 : 0;
    bool no_base = mod == 0 && rm == 5;

    x->reg = (uint8_t)((modrm >> 3 & 7) | (r->rex & 4 ? 8 : 0));
    if (mod == 3 || registers) {
        x->rm = rm | high_base;
        return;
    }
    x->flags |= RB_X86_MEMORY;
    x->base = no_base ? RB_X86_RIP : rm | high_base;
    if (rm == 4) {
        const uint8_t sib = take_byte(r), index = (uint8_t)((sib >> 3 & 7) | (r->rex & 2 ? 8 : 0));
        no_base = mod == 0 && (sib & 7) == 5;
        x->base = no_base ? RB_X86_NONE : (uint8_t)((sib & 7) | high_base);
        x->index = index == 4 ? RB_X86_NONE : index;
        x->scale = index == 4 ? 0 : sib >> 6;
    }
    read_displacement(r, x, mod == 1 ? 1 : mod == 2 || no_base ? 4 : 0);
    if (x->encoding == RB_X86_EVEX && mod == 1)
        x->flags |= RB_X86_SCALED;
}

static unsigned immediate_bytes(const struct rb_x86 *x, enum immediate kind)
{
    const unsigned word = x->flags & RB_X86_OPERAND16 && !(x->flags & RB_X86_WIDE) ? 2 : 4;

    switch (kind) {
    case IZ:
        return word;
    case IV:
        return x->flags & RB_X86_WIDE ? 8 : word;
    case J1:
        return 1;
    case J4:
        return 4;
    default:
        return kind; // I0 to I3
    }
}

static void read_immediate(struct reader *r, struct rb_x86 *x, enum immediate kind)
{
    const unsigned bytes = immediate_bytes(x, kind);

    if (!bytes)
        return;
    x->immediate_at = r->at;
    x->immediate_bytes = (uint8_t)bytes;
    x->immediate = take_signed(r, bytes == 3 ? 2 : bytes);
    if (bytes == 3)
        take_byte(r);
}

// ---- the effect ----------------------------------------------------------------------------------------

static uint8_t operand_bytes(const struct rb_x86 *x, uint8_t size)
{
    const bool wide = x->flags & RB_X86_WIDE, narrow = x->flags & RB_X86_OPERAND16;
    const uint8_t vector = x->flags & RB_X86_LONG ? 32 : 16;
    const bool mmx =
        x->encoding == RB_X86_LEGACY && !(x->flags & (RB_X86_OPERAND16 | RB_X86_REP | RB_X86_REPNE));

    switch (size) {
    case V:
        return wide ? 8 : narrow ? 2 : 4;
    case Y:
        return wide ? 8 : 4;
    case P:
        return narrow && !wide ? 2 : 8;
    case PAIR:
        return wide ? 16 : 8;
    case X:
        return vector;
    case XM:
        return mmx ? 8 : vector;
    case SC:
        return x->flags & RB_X86_REP ? 4 : x->flags & RB_X86_REPNE ? 8 : vector;
    case H:
        return vector / 2;
    case Q:
        return vector / 4;
    case E:
        return vector / 8;
    default:
        return size;
    }
}

// Without REX the numbers 4 to 7 of a byte's register are ah, ch, dh, bh.
static uint16_t register_bit(const struct rb_x86 *x, uint8_t number, bool byte)
{
    if (byte && !(x->flags & RB_X86_REX) && number >= 4 && number < 8)
        number -= 4;
    return (uint16_t)(1u << number);
}

static uint16_t find_written(const struct rb_x86 *x, const struct opcode *row, uint8_t rex)
{
    const bool byte = row->flags & BYTE;
    uint16_t written = row->flags & A ? 5 : 0; // rax, rdx

    if (row->flags & G)
        written |= register_bit(x, x->reg, byte);
    if (row->flags & T && x->rm != RB_X86_NONE)
        written |= register_bit(x, x->rm, byte);
    if (row->flags & C)
        written |= register_bit(x, (uint8_t)((x->opcode & 7) | (rex & 1 ? 8 : 0)), byte);
    return written;
}

static uint32_t flags_of(const struct rb_x86 *x, const struct opcode *row)
{
    static const struct {
        uint32_t given;
        uint32_t flag;
    } same[] = {{STACK, RB_X86_STACK},   {STRING, RB_X86_STRING}, {JUMP, RB_X86_JUMP},
                {BRANCH, RB_X86_BRANCH}, {CALL, RB_X86_CALL},     {RETURN, RB_X86_RETURN},
                {SYSTEM, RB_X86_SYSTEM}, {PLAIN, RB_X86_PLAIN}};
    const bool distance =
        row->immediate == J1 || row->immediate == J4 || (row->flags & BRANCH && row->immediate == IZ);
    uint32_t flags = distance ? RB_X86_RELATIVE : 0;

    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
        flags |= row->flags & same[i].given ? same[i].flag : 0;
    if (!(x->flags & RB_X86_MEMORY))
        return flags;
    flags |= (row->access == GETS || row->access == BOTH_WAYS ? RB_X86_READS : 0) |
             (row->access == PUTS || row->access == BOTH_WAYS ? RB_X86_WRITES : 0) |
             (row->access == OPEN ? RB_X86_OPEN : 0) | (row->flags & SPREAD ? RB_X86_SPREAD : 0) |
             (row->flags & PART ? RB_X86_PART : 0);
    if (x->flags & RB_X86_LOCK || row->flags & SWAPS)
        flags = (flags | RB_X86_ATOMIC) & ~(uint32_t)RB_X86_PLAIN;
    return flags;
}

// ---- an instruction ------------------------------------------------------------------------------------

// Reads the rest of an instruction that has a row. Returns false if it has none.
static bool read_known(struct reader *r, struct rb_x86 *x)
{
    if (x->map >= sizeof(maps) / sizeof(*maps) || (x->encoding == RB_X86_VEX && !x->map))
        return false;
    // Bits of ModRM choose among rows also where there is none: those rows are for all.
    const struct opcode *row = find_row(x, r->at < r->end ? r->code[r->at] >> 3 & 7 : 0);
    if (!row)
        return false;
    if (row->operand == RM || row->operand == RR)
        read_operand(r, x, row->operand == RR);
    if (row->operand == AT) {
        x->flags |= RB_X86_MEMORY;
        read_displacement(r, x, x->flags & RB_X86_ADDRESS32 ? 4 : 8);
    }
    read_immediate(r, x, row->immediate);
    if (x->flags & RB_X86_LOCK && (!(row->flags & LOCKS) || !(x->flags & RB_X86_MEMORY)))
        return false;
    x->flags |= flags_of(x, row);
    if (x->flags & (RB_X86_READS | RB_X86_WRITES))
        x->size = operand_bytes(x, row->size);
    x->written = find_written(x, row, r->rex);
    return true;
}

// Reads the rest of an instruction of which lengths alone are known: EVEX and XOP. Both have ModRM always.
static bool read_unknown(struct reader *r, struct rb_x86 *x)
{
    const bool shuffles = (x->opcode >= 0x70 && x->opcode <= 0x73) || x->opcode == 0xc2 ||
                          (x->opcode >= 0xc4 && x->opcode <= 0xc6);
    enum immediate kind = I0;

    if (x->encoding == RB_X86_EVEX) {
        if (x->map == 0 || x->map == 4 || x->map == 7)
            return false;
        kind = x->map == 3 || (x->map == 1 && shuffles) ? I1 : I0;
    } else {
        if (x->map > 10)
            return false;
        kind = x->map == 8 ? I1 : I0;
    }
    read_operand(r, x, false);
    if (x->encoding == RB_X86_XOP && x->map == 10) {
        x->immediate_at = r->at;
        x->immediate_bytes = 4;
        x->immediate = take_signed(r, 4);
    }
    read_immediate(r, x, kind);
    x->flags |= x->flags & RB_X86_MEMORY ? RB_X86_OPEN : 0;
    return true;
}

bool rb_x86_decode(const uint8_t *code, size_t bytes, struct rb_x86 *x)
{
    struct reader r = {.code = code, .end = bytes < RB_X86_MOST_BYTES ? (uint8_t)bytes : RB_X86_MOST_BYTES};

    *x = (struct rb_x86){.base = RB_X86_NONE, .index = RB_X86_NONE, .rm = RB_X86_NONE};
    read_prefixes(&r, x);
    if (r.short_of || !read_map(&r, x))
        return false;
    x->opcode_at = r.at;
    x->opcode = take_byte(&r);
    const bool rows = x->encoding == RB_X86_LEGACY || x->encoding == RB_X86_VEX;
    if (r.short_of || !(rows ? read_known(&r, x) : read_unknown(&r, x)) || r.short_of)
        return false;
    x->length = r.at;
    return true;
}
