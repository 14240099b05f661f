// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decodes the code of a module, function by function, and keeps functions that are certain.
//
// A function is certain under these conditions:
//   - It is a range that .eh_frame calls a function.
//   - Decoded from its start, one instruction after the other, it ends exactly at its end.
//   - No direct jump or call of the module, no symbol, no entry point, and no address that the code or a
//     relocation makes leads into the middle of one of its instructions.
//   - No instruction reads or writes there.
// Data among the code (jump tables, constants of assembly code) breaks one of these, or is not in such a
// range at all. Functions that are left out are counted.
#include "watch/code_table/code_table_build.h"

#include <stdlib.h>
#include <string.h>

#include "watch/code_table/code_table_decode.h"
#include "watch/code_table/code_table_elf.h"

#define MOST_ADDRESS 0xfffff000u // offsets are 32 bits

enum fate { KEPT, INVALID, ENTERED, HAS_DATA };

struct function {
    struct rb_code_range range;
    const uint8_t *code;
    size_t first_row, rows;
    uint64_t first_start, instructions; // its bits among the starts
    bool has_data;                      // an instruction reads or writes there
    enum fate fate;
};

struct build {
    struct rb_code_file file;
    ZydisDecoder decoder;
    struct function *function;
    size_t functions;
    struct rb_code_row *row;
    size_t rows, row_room;
    uint64_t *target;
    size_t targets, target_room;
    uint8_t *starts; // a bit for each byte of all functions, one after the other
};

// Returns true if the form proves nothing, for one of the compilers of this module.
static bool is_move(enum rb_code_form form, unsigned producers)
{
    static const uint8_t made_by[RB_CODE_FORMS] = {
#define FORM(name, gcc, clang, others, what) \
    (gcc) * RB_CODE_BY_GCC + (clang)*RB_CODE_BY_CLANG + (others)*RB_CODE_BY_UNKNOWN,
#include "watch/code_table/code_table_forms.def"
#undef FORM
    };

    return made_by[form] & producers;
}

static bool grow_array(void *array, size_t *room, size_t used, size_t each)
{
    void **at = array;

    if (used < *room)
        return true;
    const size_t want = *room ? *room * 2 : 4096;
    void *grown = realloc(*at, want * each);
    if (!grown)
        return false;
    *at = grown;
    *room = want;
    return true;
}

static void set_start(struct build *b, uint64_t bit)
{
    b->starts[bit >> 3] |= (uint8_t)(1u << (bit & 7));
}

static bool is_start(const struct build *b, uint64_t bit)
{
    return b->starts[bit >> 3] >> (bit & 7) & 1;
}

static struct function *function_at(struct build *b, uint64_t address)
{
    size_t low = 0, high = b->functions;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (b->function[middle].range.end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low < b->functions && b->function[low].range.start <= address ? &b->function[low] : NULL;
}

// ---- one function --------------------------------------------------------------------------------------

static bool reads_constant(const struct build *b, const struct rb_code_row *r)
{
    uint64_t address = (uint64_t)(int64_t)r->displacement;

    if (r->flags & RB_CODE_WRITE)
        return false;
    if (r->base == RB_CODE_RIP)
        address += r->offset + r->length;
    else if (r->base != RB_CODE_NONE || b->file.header->e_type != ET_EXEC)
        return false; // other operands than a fixed place have no known address
    return rb_code_file_read_only(&b->file, address);
}

// Completes a row by the properties of the function and the module.
static void finish_row(const struct build *b, struct rb_code_row *r, bool frame_pointer, bool move)
{
    if (r->base == 5 && frame_pointer)
        r->flags |= RB_CODE_STACK;
    if (r->flags & RB_CODE_STACK || reads_constant(b, r))
        r->flags &= (uint16_t)~RB_CODE_SITE;
    if (move && !(r->flags & RB_CODE_LOCKED))
        r->flags |= RB_CODE_MOVE;
}

static bool add_target(struct build *b, uint64_t address)
{
    if (!grow_array(&b->target, &b->target_room, b->targets, sizeof(*b->target)))
        return false;
    b->target[b->targets++] = address;
    return true;
}

// Notes the places in the code that the instruction leads to, or reads. Returns false if memory is out.
static bool note_targets(struct build *b, const struct rb_code_instruction *i)
{
    if (i->has_target && !add_target(b, i->target))
        return false;
    if (!i->has_relative)
        return true;
    if (i->is_address)
        return add_target(b, i->relative);
    struct function *f = function_at(b, i->relative);
    if (f)
        f->has_data = true;
    return true;
}

// Decodes one function. Returns false if memory is out.
static bool decode_function(struct build *b, struct function *f)
{
    const uint64_t bytes = f->range.end - f->range.start;
    struct rb_code_instruction i;
    bool frame_pointer = f->range.frame_pointer;

    f->first_row = b->rows;
    for (uint64_t at = 0; at < bytes; at += i.length) {
        const uint64_t address = f->range.start + at;
        if (!rb_code_decode(&b->decoder, f->code + at, (size_t)(bytes - at), address, &i)) {
            f->fate = INVALID;
            break;
        }
        set_start(b, f->first_start + at);
        f->instructions++;
        frame_pointer |= i.makes_frame;
        if (!note_targets(b, &i))
            return false;
        for (unsigned n = 0; n < i.rows; n++) {
            if (!grow_array(&b->row, &b->row_room, b->rows, sizeof(*b->row)))
                return false;
            i.row[n].offset = (uint32_t)address;
            finish_row(b, &i.row[n], false, is_move(i.form, b->file.producers));
            b->row[b->rows++] = i.row[n];
        }
    }
    if (f->fate == INVALID)
        b->rows = f->first_row;
    f->rows = b->rows - f->first_row;
    for (size_t n = 0; n < f->rows && frame_pointer; n++) // known at the end only
        finish_row(b, &b->row[f->first_row + n], true, false);
    return true;
}

// ---- all of them ---------------------------------------------------------------------------------------

static bool list_functions(struct build *b)
{
    uint64_t bits = 0;

    b->function = calloc(b->file.ranges + 1, sizeof(*b->function));
    if (!b->function)
        return false;
    for (size_t i = 0; i < b->file.ranges; i++) {
        const struct rb_code_range *r = &b->file.range[i];
        const uint8_t *code = r->end <= MOST_ADDRESS ? rb_code_file_code(&b->file, r->start, r->end) : NULL;
        if (!code || r->end - r->start > b->file.bytes - bits) // the file has no more bytes than it has
            continue;
        b->function[b->functions++] = (struct function){.range = *r, .code = code, .first_start = bits};
        bits += r->end - r->start;
    }
    b->starts = calloc((size_t)(bits / 8 + 1), 1);
    return b->starts != NULL;
}

static void check_entry(struct build *b, uint64_t address)
{
    struct function *f = function_at(b, address);

    if (f && f->fate == KEPT && !is_start(b, f->first_start + (address - f->range.start)))
        f->fate = ENTERED;
}

// ---- the image -----------------------------------------------------------------------------------------

static void count_row(struct rb_code_counts *c, const struct rb_code_row *r)
{
    c->rows++;
    c->sites += !!(r->flags & RB_CODE_SITE);
    c->reads += !!(r->flags & RB_CODE_READ);
    c->writes += !!(r->flags & RB_CODE_WRITE);
    c->moves += !!(r->flags & RB_CODE_MOVE);
    c->locked += !!(r->flags & RB_CODE_LOCKED);
}

static bool fill_image(struct build *b, struct rb_code_image *image)
{
    struct rb_code_counts *c = &image->counts;
    uint64_t decoded = 0, instructions = 0;
    uint32_t next = 0, site = 0;

    for (size_t i = 0; i < b->functions; i++) {
        const struct function *f = &b->function[i];
        c->invalid += f->fate == INVALID;
        c->entered += f->fate == ENTERED;
        c->with_data += f->fate == HAS_DATA;
        if (f->fate != KEPT)
            continue;
        c->kept++;
        decoded += f->range.end - f->range.start;
        instructions += f->instructions;
        for (size_t n = 0; n < f->rows; n++)
            count_row(c, &b->row[f->first_row + n]);
    }
    const size_t bytes =
        sizeof(*image->header) + (size_t)c->rows * sizeof(*b->row) + (size_t)c->sites * sizeof(uint32_t);
    struct rb_code_header *h = image->header = calloc(1, bytes);
    if (!h)
        return false;
    struct rb_code_row *row = (void *)(h + 1);
    uint32_t *sites = (void *)(row + c->rows);
    for (size_t i = 0; i < b->functions; i++) {
        const struct function *f = &b->function[i];
        for (size_t n = 0; n < f->rows && f->fate == KEPT; n++) {
            row[next] = b->row[f->first_row + n];
            if (row[next].flags & RB_CODE_SITE)
                sites[site++] = next;
            next++;
        }
    }
    memcpy(h->magic, RB_CODE_MAGIC, sizeof(h->magic));
    h->version = RB_CODE_VERSION;
    h->header_bytes = sizeof(*h);
    memcpy(h->build_id, b->file.id, sizeof(h->build_id));
    h->build_id_bytes = b->file.id_bytes;
    h->file_bytes = bytes;
    h->rows = next;
    h->sites = site;
    h->instructions = instructions;
    h->bytes_decoded = decoded;
    h->bytes_left_out = c->code_bytes > decoded ? c->code_bytes - decoded : 0;
    h->checksum = rb_code_checksum(h);
    return true;
}

static int build_all(struct build *b, struct rb_code_image *image, struct rb_error *e)
{
    ZydisDecoderInit(&b->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    if (!list_functions(b))
        return rb_internal(e, "%s: no memory", b->file.path);
    for (size_t i = 0; i < b->functions; i++)
        if (!decode_function(b, &b->function[i]))
            return rb_internal(e, "%s: no memory", b->file.path);
    for (size_t i = 0; i < b->targets; i++)
        check_entry(b, b->target[i]);
    for (size_t i = 0; i < b->file.starts; i++)
        check_entry(b, b->file.start[i]);
    for (size_t i = 0; i < b->functions; i++)
        if (b->function[i].has_data && b->function[i].fate == KEPT)
            b->function[i].fate = HAS_DATA;
    image->counts = (struct rb_code_counts){.code_bytes = b->file.code_bytes,
                                            .functions = b->file.ranges,
                                            .overlap_bytes = b->file.overlap_bytes,
                                            .producers = b->file.producers,
                                            .id_is_hash = b->file.id_is_hash};
    return fill_image(b, image) ? 0 : rb_internal(e, "%s: no memory", b->file.path);
}

int rb_code_build(const char *path, struct rb_code_image *image, struct rb_error *e)
{
    struct build b = {0};

    *image = (struct rb_code_image){0};
    int failed = rb_code_file_open(&b.file, path, e);
    if (!failed)
        failed = rb_code_file_read(&b.file, e);
    if (!failed)
        failed = build_all(&b, image, e);
    rb_code_file_close(&b.file);
    free(b.function);
    free(b.row);
    free(b.target);
    free(b.starts);
    return failed;
}

void rb_code_free(struct rb_code_image *image)
{
    free(image->header);
    image->header = NULL;
}
