// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Finds the atomic instructions of a module and the room for a jump at each.
//
// Instructions move only out of functions with all branch targets known: direct branches of the whole
// module, symbols, relocations, landing pads, starts of functions, and each entry of a table of distances
// that an instruction makes the address of. A function that jumps by a register keeps its instructions.
#include "watch/code_table/code_table_build.h"

#include <stdlib.h>
#include <string.h>

#include "watch/code_table/code_table_sweep.h"

#define MOST_ENTRIES 65536u // of a table of distances
#define ALIGNED      16u    // functions without unwinding information begin at such addresses

struct rmw_build {
    struct rb_code_sweep sweep;
    uint64_t *entry; // sorted: every place that control may come to
    size_t entries, entry_room;
    struct rb_rmw_header *image;
};

// ---- where control may come to -------------------------------------------------------------------------

static bool add_entry(struct rmw_build *b, uint64_t address)
{
    if (b->entries == b->entry_room) {
        const size_t want = b->entry_room ? 2 * b->entry_room : 4096;
        uint64_t *more = realloc(b->entry, want * sizeof(*more));
        if (!more)
            return false;
        b->entry = more;
        b->entry_room = want;
    }
    b->entry[b->entries++] = address;
    return true;
}

// Adds the places that a table of distances leads to, if there is one at the address.
static bool add_table(struct rmw_build *b, uint64_t address)
{
    size_t bytes = 0;
    const uint8_t *data = rb_code_file_bytes(&b->sweep.file, address, &bytes);
    int32_t distance;

    if (!data || rb_code_function_at(&b->sweep, address) || !rb_code_file_read_only(&b->sweep.file, address))
        return true;
    for (size_t i = 0; i < MOST_ENTRIES && bytes - 4 * i >= 4; i++) {
        memcpy(&distance, data + 4 * i, sizeof(distance));
        const uint64_t place = address + (uint64_t)(int64_t)distance;
        if (!rb_code_function_at(&b->sweep, place))
            break;
        if (!add_entry(b, place))
            return false;
    }
    return true;
}

static int compare_addresses(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static bool list_entries(struct rmw_build *b)
{
    struct rb_code_sweep *s = &b->sweep;

    if (s->targets)
        qsort(s->target, s->targets, sizeof(*s->target), compare_addresses);
    for (size_t i = 0; i < s->targets; i++)
        if ((!i || s->target[i] != s->target[i - 1]) &&
            (!add_entry(b, s->target[i]) || !add_table(b, s->target[i])))
            return false;
    for (size_t i = 0; i < s->file.starts; i++)
        if (!add_entry(b, s->file.start[i]))
            return false;
    for (size_t i = 0; i < s->file.ranges; i++)
        if (!add_entry(b, s->file.range[i].start))
            return false;
    if (b->entries)
        qsort(b->entry, b->entries, sizeof(*b->entry), compare_addresses);
    return true;
}

// Returns true if control may come to a place behind `from` and before `to`.
static bool is_entered(const struct rmw_build *b, uint64_t from, uint64_t to)
{
    size_t low = 0, high = b->entries;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (b->entry[middle] <= from)
            low = middle + 1;
        else
            high = middle;
    }
    return low < b->entries && b->entry[low] < to;
}

// ---- instructions that move ----------------------------------------------------------------------------

struct decoded {
    ZydisDecodedInstruction i;
    ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
};

static bool decode_at(const struct rmw_build *b, uint64_t address, uint64_t end, struct decoded *d)
{
    const uint8_t *code = address < end ? rb_code_file_code(&b->sweep.file, address, end) : NULL;

    return code && ZYAN_SUCCESS(ZydisDecoderDecodeFull(&b->sweep.decoder, code, (size_t)(end - address),
                                                       &d->i, d->operand));
}

static bool is_locked(const struct decoded *d)
{
    return d->i.attributes & ZYDIS_ATTRIB_HAS_LOCK || d->i.mnemonic == ZYDIS_MNEMONIC_XCHG;
}

// Returns true for the branches that have a form with a distance of 32 bits.
static bool is_movable_branch(const struct decoded *d)
{
    const bool near = d->i.raw.imm[0].size == 32;

    if (d->i.mnemonic == ZYDIS_MNEMONIC_JMP)
        return d->i.length == (near ? 5 : 2);
    if (d->i.meta.category != ZYDIS_CATEGORY_COND_BR || d->i.mnemonic == ZYDIS_MNEMONIC_JCXZ ||
        d->i.mnemonic == ZYDIS_MNEMONIC_JECXZ || d->i.mnemonic == ZYDIS_MNEMONIC_JRCXZ ||
        d->i.mnemonic == ZYDIS_MNEMONIC_LOOP || d->i.mnemonic == ZYDIS_MNEMONIC_LOOPE ||
        d->i.mnemonic == ZYDIS_MNEMONIC_LOOPNE)
        return false;
    return d->i.length == (near ? 6 : 2);
}

// Describes how an instruction moves. Returns false if it cannot.
static bool describe_move(const struct decoded *d, struct rb_rmw_move *m)
{
    *m = (struct rb_rmw_move){.length = d->i.length, .kind = RB_RMW_COPIED};
    switch (d->i.meta.category) {
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSTEM:
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_SYSRET:
        return false;
    default:
        break;
    }
    if (is_locked(d) || d->i.mnemonic == ZYDIS_MNEMONIC_UD2)
        return false;
    for (unsigned n = 0; n < d->i.operand_count_visible; n++) {
        const ZydisDecodedOperand *o = &d->operand[n];
        if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o->imm.is_relative) {
            m->kind = RB_RMW_BRANCH;
            m->at = d->i.raw.imm[0].offset;
            if (!is_movable_branch(d))
                return false;
        } else if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.base == ZYDIS_REGISTER_RIP) {
            m->kind = RB_RMW_RELATIVE;
            m->at = d->i.raw.disp.offset;
        } else if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.base == ZYDIS_REGISTER_EIP) {
            return false;
        }
    }
    return true;
}

static bool ends_here(const struct decoded *d)
{
    return d->i.meta.category == ZYDIS_CATEGORY_RET || d->i.meta.category == ZYDIS_CATEGORY_UNCOND_BR;
}

// Takes the instructions behind the row until there is room for a jump. Returns false if there is none.
static bool find_room(const struct rmw_build *b, const struct rb_code_function *f, struct rb_rmw_row *r)
{
    bool ended = false;
    struct decoded d;

    while (r->taken < RB_RMW_JUMP) {
        const uint64_t at = (uint64_t)r->offset + r->taken;
        const uint64_t end = ended ? at + 16 : f->range.end;
        if (r->moves == RB_RMW_MOVES || (ended && at % ALIGNED == 0))
            return false;
        if (!decode_at(b, at, end, &d) || r->taken + d.i.length > RB_RMW_BYTES)
            return false;
        struct rb_rmw_move *m = &r->move[r->moves++];
        if (ended) {
            *m = (struct rb_rmw_move){.length = d.i.length, .kind = RB_RMW_PADDING};
            if (d.i.mnemonic != ZYDIS_MNEMONIC_NOP && d.i.mnemonic != ZYDIS_MNEMONIC_INT3)
                return false;
        } else if (!describe_move(&d, m)) {
            return false;
        }
        ended |= ends_here(&d);
        r->taken = (uint8_t)(r->taken + d.i.length);
    }
    return !is_entered(b, r->offset, (uint64_t)r->offset + r->taken);
}

// ---- rows ----------------------------------------------------------------------------------------------

static bool uses_rsp(const struct decoded *d)
{
    for (unsigned n = 0; n < d->i.operand_count; n++)
        if (d->operand[n].type == ZYDIS_OPERAND_TYPE_REGISTER &&
            ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, d->operand[n].reg.value) ==
                ZYDIS_REGISTER_RSP)
            return true;
    return false;
}

static uint8_t bit_register(const struct decoded *d)
{
    const bool string = d->i.mnemonic == ZYDIS_MNEMONIC_BTS || d->i.mnemonic == ZYDIS_MNEMONIC_BTR ||
                        d->i.mnemonic == ZYDIS_MNEMONIC_BTC;

    if (!string || d->operand[1].type != ZYDIS_OPERAND_TYPE_REGISTER)
        return RB_RMW_NONE;
    return (uint8_t)ZydisRegisterGetId(d->operand[1].reg.value);
}

// Makes the row of an atomic instruction. Returns false if it gets none: its operand is relative to a segment,
// which is the thread's own memory, or it changes the stack pointer.
static bool make_row(const struct rmw_build *b, const struct rb_code_function *f,
                     const struct rb_code_row *from, struct rb_rmw_row *r)
{
    const uint64_t end = (uint64_t)from->offset + from->length;
    struct decoded d;

    if (from->scale_segment & (RB_CODE_FS | RB_CODE_GS) || !decode_at(b, from->offset, end, &d) ||
        uses_rsp(&d) || is_entered(b, from->offset, end) || !d.i.raw.modrm.offset)
        return false;
    *r = (struct rb_rmw_row){.offset = from->offset,
                             .displacement = from->displacement,
                             .length = from->length,
                             .taken = from->length,
                             .base = from->base,
                             .index = from->index,
                             .scale = from->scale_segment & 3,
                             .size = (uint8_t)from->size,
                             .bit = bit_register(&d),
                             .modrm = d.i.raw.modrm.offset};
    struct rb_rmw_row roomy = *r;
    if (!f->jumps_anywhere && !f->range.lands_anywhere && find_room(b, f, &roomy))
        *r = roomy;
    memcpy(r->bytes, rb_code_file_code(&b->sweep.file, r->offset, (uint64_t)r->offset + r->taken), r->taken);
    return true;
}

static void take_function(struct rmw_build *b, const struct rb_code_function *f)
{
    struct rb_rmw_header *h = b->image;
    struct rb_rmw_row *row = (void *)(h + 1);

    for (size_t n = 0; n < f->rows; n++) {
        const struct rb_code_row *from = &b->sweep.row[f->first_row + n];
        struct rb_rmw_row *r = &row[h->rows];
        if (!(from->flags & RB_CODE_LOCKED))
            continue;
        if (f->fate != RB_CODE_KEPT) {
            h->not_certain++;
            continue;
        }
        if (!make_row(b, f, from, r)) {
            h->left_out++;
            continue;
        }
        h->with_room += r->length >= RB_RMW_JUMP;
        h->with_moves += r->length < RB_RMW_JUMP && r->taken >= RB_RMW_JUMP;
        h->rows++;
    }
}

static int make_image(struct rmw_build *b, struct rb_error *e)
{
    size_t rows = 0;

    for (size_t i = 0; i < b->sweep.rows; i++)
        rows += !!(b->sweep.row[i].flags & RB_CODE_LOCKED);
    struct rb_rmw_header *h = b->image = calloc(1, sizeof(*h) + rows * sizeof(struct rb_rmw_row));
    if (!h || !list_entries(b))
        return rb_internal(e, "%s: no memory", b->sweep.file.path);
    for (size_t i = 0; i < b->sweep.functions; i++)
        take_function(b, &b->sweep.function[i]);
    memcpy(h->magic, RB_RMW_MAGIC, sizeof(h->magic));
    h->version = RB_RMW_VERSION;
    h->header_bytes = sizeof(*h);
    memcpy(h->build_id, b->sweep.file.id, sizeof(h->build_id));
    h->build_id_bytes = b->sweep.file.id_bytes;
    h->file_bytes = sizeof(*h) + (uint64_t)h->rows * sizeof(struct rb_rmw_row);
    h->checksum = rb_rmw_checksum(h);
    return 0;
}

struct rb_rmw_header *rb_rmw_build(const char *path, struct rb_error *e)
{
    struct rmw_build b = {.entries = 0};
    int failed = rb_code_sweep_open(&b.sweep, path, e);

    if (!failed)
        failed = make_image(&b, e);
    rb_code_sweep_close(&b.sweep);
    free(b.entry);
    if (failed) {
        free(b.image);
        return NULL;
    }
    return b.image;
}

int rb_rmw_cached(const char *path, char *out, size_t room, struct rb_error *e)
{
    uint8_t id[RB_CODE_ID_BYTES];
    struct rb_rmw_table there;
    uint32_t bytes;
    int failed = rb_code_identify(path, id, &bytes, e);

    if (!failed)
        failed = rb_code_cache_path(id, bytes, ".rmw", out, room, e);
    if (failed)
        return failed;
    if (!rb_rmw_table_open(&there, out, id, bytes)) {
        rb_rmw_table_close(&there);
        return 0;
    }
    struct rb_rmw_header *image = rb_rmw_build(path, e);
    if (!image)
        return -1;
    failed = rb_code_store(image, (size_t)image->file_bytes, out, e);
    free(image);
    return failed;
}
