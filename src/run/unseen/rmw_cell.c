// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes cells. Encodings: Intel SDM volume 2.
#include "run/unseen/rmw_cell.h"

#define RSP        4u
#define PLAIN      6u // of a cell: behind its first jump
#define RED_ZONE   128u
#define LEA_BYTES  5u
#define PUSH_BYTES 6u
#define CALL_BYTES 6u

// A place in the cell that is written. `bad` once a distance does not fit, or the cell is full.
struct writer {
    unsigned char *cell, *at;
    bool bad;
};

static void put_bytes(struct writer *w, const void *bytes, size_t count)
{
    if (w->at + count > w->cell + RB_RMW_CELL) {
        w->bad = true;
        return;
    }
    for (size_t i = 0; i < count; i++)
        w->at[i] = ((const unsigned char *)bytes)[i];
    w->at += count;
}

static void put_byte(struct writer *w, unsigned byte)
{
    const unsigned char b = (unsigned char)byte;

    put_bytes(w, &b, 1);
}

// Puts the distance from the end of the instruction, `more` bytes behind it, to the target.
static void put_distance(struct writer *w, uintptr_t target, unsigned more)
{
    const int64_t distance = (int64_t)(target - ((uintptr_t)w->at + 4 + more));
    const int32_t word = (int32_t)distance;

    w->bad |= word != distance;
    put_bytes(w, &word, sizeof(word));
}

// Puts an instruction with two bytes of opcode and an operand in memory at the address.
static void put_relative(struct writer *w, unsigned opcode, unsigned modrm, const void *operand)
{
    put_byte(w, opcode);
    put_byte(w, modrm);
    put_distance(w, (uintptr_t)operand, 0);
}

static void put_jump(struct writer *w, uintptr_t target)
{
    put_byte(w, 0xe9);
    put_distance(w, target, 0);
}

// ---- instructions of the program -----------------------------------------------------------------------

static int32_t distance_at(const uint8_t *bytes, unsigned count)
{
    int32_t word;

    if (count == 1)
        return (int8_t)*bytes;
    __builtin_memcpy(&word, bytes, sizeof(word));
    return word;
}

// Puts the atomic instruction, with rsp lower by so many bytes than in the program.
static void put_instruction(struct writer *w, const struct rb_rmw_row *r, uintptr_t pc, int32_t lowered)
{
    const uint8_t modrm = r->bytes[r->modrm];
    unsigned rest = r->length;

    if (r->base == RB_RMW_RIP) {
        put_bytes(w, r->bytes, r->modrm + 1u);
        rest = r->modrm + 5u;
        put_distance(w, pc + r->length + (uintptr_t)(intptr_t)distance_at(&r->bytes[r->modrm + 1], 4),
                     r->length - rest);
    } else if (r->base == RSP && lowered) {
        const int32_t displacement = (int32_t)((uint32_t)r->displacement + (uint32_t)lowered);
        w->bad |= displacement < r->displacement;
        put_bytes(w, r->bytes, r->modrm);
        put_byte(w, (modrm & 0x3fu) | 0x80); // a displacement of 32 bits
        put_byte(w, r->bytes[r->modrm + 1]);
        put_bytes(w, &displacement, sizeof(displacement));
        rest = r->modrm + 2u + (modrm >> 6 == 2 ? 4u : modrm >> 6);
    } else {
        rest = 0;
    }
    put_bytes(w, r->bytes + rest, r->length - rest);
}

// Puts a jump, conditional or not, in its form with 32 bits.
static void put_branch(struct writer *w, const uint8_t *bytes, const struct rb_rmw_move *m, uintptr_t pc)
{
    const unsigned width = m->length - m->at;
    const uintptr_t target = pc + m->length + (uintptr_t)(intptr_t)distance_at(bytes + m->at, width);

    if (width == 4) {
        put_bytes(w, bytes, m->at);
    } else if (bytes[0] == 0xeb) {
        put_byte(w, 0xe9);
    } else {
        put_byte(w, 0x0f);
        put_byte(w, 0x80 | (bytes[0] & 0xfu));
    }
    put_distance(w, target, 0);
}

static void put_move(struct writer *w, const uint8_t *bytes, const struct rb_rmw_move *m, uintptr_t pc)
{
    switch (m->kind) {
    case RB_RMW_RELATIVE:
        put_bytes(w, bytes, m->at);
        put_distance(w, pc + m->length + (uintptr_t)(intptr_t)distance_at(bytes + m->at, 4),
                     m->length - m->at - 4u);
        put_bytes(w, bytes + m->at + 4, m->length - m->at - 4u);
        break;
    case RB_RMW_BRANCH:
        put_branch(w, bytes, m, pc);
        break;
    case RB_RMW_PADDING:
        break;
    default:
        put_bytes(w, bytes, m->length);
    }
}

static void put_moves(struct writer *w, struct rb_rmw_site *s, const struct rb_rmw_row *r)
{
    unsigned from = r->length;

    for (unsigned i = 0; i < r->moves; i++) {
        s->move_from[i] = (uint8_t)from;
        s->move_at[i] = (uint8_t)(w->at - w->cell);
        put_move(w, r->bytes + from, &r->move[i], s->pc + from);
        from += r->move[i].length;
    }
    put_jump(w, s->pc + s->taken);
}

// ---- cells ---------------------------------------------------------------------------------------------

static const unsigned char skip_red_zone[LEA_BYTES] = {0x48, 0x8d, 0x64, 0x24, 0x80};

static uintptr_t next_of(const unsigned char *cell, const struct rb_rmw_site *s)
{
    return s->moves ? (uintptr_t)cell + s->next : s->pc + s->taken;
}

// Puts the words below the red zone that a stub finds: the program's pc, and the site.
static void put_words(struct writer *w, const struct rb_rmw_site *s)
{
    put_bytes(w, skip_red_zone, LEA_BYTES);
    put_relative(w, 0xff, 0x35, &s->pc);
    put_relative(w, 0xff, 0x35, &s->self);
}

bool rb_rmw_cell_make(unsigned char *cell, struct rb_rmw_site *s, const struct rb_rmw_slot *slot,
                      const struct rb_rmw_calls *calls, const struct rb_rmw_row *r)
{
    struct writer w = {cell, cell, false};

    s->moves = s->taken > s->length ? r->moves : 0;
    put_relative(&w, 0xff, 0x25, &slot->way);
    put_instruction(&w, r, s->pc, 0);
    put_relative(&w, 0xff, 0x25, &slot->later);
    s->next = (uint8_t)(w.at - cell);
    if (s->moves)
        put_moves(&w, s, r);
    s->hooked = (uint8_t)(w.at - cell);
    put_words(&w, s);
    put_relative(&w, 0xff, 0x15, &calls->before);
    put_instruction(&w, r, s->pc, RB_RMW_LOWERED);
    s->after = (uint8_t)(w.at - cell);
    put_relative(&w, 0xff, 0x35, &s->self);
    put_relative(&w, 0xff, 0x15, &calls->after);
    put_jump(&w, next_of(cell, s));
    s->late = (uint8_t)(w.at - cell);
    put_words(&w, s);
    put_jump(&w, (uintptr_t)cell + s->after);
    s->end = (uint8_t)(w.at - cell);
    return !w.bad;
}

struct rb_rmw_slot rb_rmw_cell_ways(const unsigned char *cell, const struct rb_rmw_site *s, bool on)
{
    if (on)
        return (struct rb_rmw_slot){(uintptr_t)cell + s->hooked, (uintptr_t)cell + s->late};
    return (struct rb_rmw_slot){(uintptr_t)cell + PLAIN, next_of(cell, s)};
}

// ---- places --------------------------------------------------------------------------------------------

// Returns the bytes that rsp is lowered by, so many bytes behind the start of put_words().
static unsigned lowered_in_words(unsigned offset)
{
    if (offset < LEA_BYTES)
        return 0;
    if (offset < LEA_BYTES + PUSH_BYTES)
        return RED_ZONE;
    return offset < LEA_BYTES + 2 * PUSH_BYTES ? RED_ZONE + 8 : RB_RMW_LOWERED;
}

void rb_rmw_cell_place(const struct rb_rmw_site *s, unsigned offset, uintptr_t *pc, unsigned *lowered)
{
    const uintptr_t behind = s->pc + s->length;

    *lowered = 0;
    if (offset < s->hooked) {
        *pc = offset < PLAIN + s->length ? s->pc : behind;
        for (unsigned i = 0; i < s->moves && offset >= s->move_at[i]; i++)
            *pc = s->pc + s->move_from[i];
        if (s->moves && offset == s->hooked - 5u) // the jump back
            *pc = s->pc + s->taken;
    } else if (offset < s->after) {
        *pc = s->pc;
        *lowered = lowered_in_words(offset - s->hooked);
    } else if (offset < s->late) {
        *pc = behind;
        if (offset < s->after + PUSH_BYTES)
            *lowered = RB_RMW_LOWERED;
        else if (offset < s->after + PUSH_BYTES + CALL_BYTES)
            *lowered = RB_RMW_LOWERED + 8;
    } else {
        *pc = behind;
        *lowered = lowered_in_words(offset - s->late);
    }
}

unsigned rb_rmw_cell_of(const struct rb_rmw_site *s, uintptr_t pc)
{
    for (unsigned i = 0; i < s->moves; i++)
        if (s->pc + s->move_from[i] == pc)
            return s->move_at[i];
    return 0;
}
