// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "watch/code_table/code_table_sweep.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ADDRESS 0xfffff000u // offsets are 32 bits

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

static void set_start(struct rb_code_sweep *b, uint64_t bit)
{
    b->starts[bit >> 3] |= (uint8_t)(1u << (bit & 7));
}

static bool is_start(const struct rb_code_sweep *b, uint64_t bit)
{
    return b->starts[bit >> 3] >> (bit & 7) & 1;
}

struct rb_code_function *rb_code_function_at(const struct rb_code_sweep *b, uint64_t address)
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

static bool reads_constant(const struct rb_code_sweep *b, const struct rb_code_row *r)
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
static void finish_row(const struct rb_code_sweep *b, struct rb_code_row *r, bool frame_pointer, bool move)
{
    if (r->base == 5 && frame_pointer)
        r->flags |= RB_CODE_STACK;
    if (r->flags & RB_CODE_STACK || reads_constant(b, r))
        r->flags &= (uint16_t)~RB_CODE_SITE;
    if (move && !(r->flags & RB_CODE_LOCKED))
        r->flags |= RB_CODE_MOVE;
}

static bool add_target(struct rb_code_sweep *b, uint64_t address)
{
    if (!grow_array(&b->target, &b->target_room, b->targets, sizeof(*b->target)))
        return false;
    b->target[b->targets++] = address;
    return true;
}

// Notes the places in the code that the instruction leads to, or reads. Returns false if memory is out.
static bool note_targets(struct rb_code_sweep *b, const struct rb_code_instruction *i)
{
    if (i->has_target && !add_target(b, i->target))
        return false;
    if (!i->has_relative)
        return true;
    if (i->is_address)
        return add_target(b, i->relative);
    struct rb_code_function *f = rb_code_function_at(b, i->relative);
    if (f)
        f->has_data = true;
    return true;
}

// Decodes one function. Returns false if memory is out.
static bool decode_function(struct rb_code_sweep *b, struct rb_code_function *f)
{
    const uint64_t bytes = f->range.end - f->range.start;
    struct rb_code_instruction i;
    bool frame_pointer = f->range.frame_pointer;

    f->first_row = b->rows;
    for (uint64_t at = 0; at < bytes; at += i.length) {
        const uint64_t address = f->range.start + at;
        if (!rb_code_decode(&b->decoder, f->code + at, (size_t)(bytes - at), address, &i)) {
            f->fate = RB_CODE_INVALID;
            break;
        }
        set_start(b, f->first_start + at);
        f->instructions++;
        frame_pointer |= i.makes_frame;
        f->jumps_anywhere |= i.jumps_anywhere;
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
    if (f->fate == RB_CODE_INVALID)
        b->rows = f->first_row;
    f->rows = b->rows - f->first_row;
    for (size_t n = 0; n < f->rows && frame_pointer; n++) // known at the end only
        finish_row(b, &b->row[f->first_row + n], true, false);
    return true;
}

// ---- all of them ---------------------------------------------------------------------------------------

static bool list_functions(struct rb_code_sweep *b)
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
        b->function[b->functions++] =
            (struct rb_code_function){.range = *r, .code = code, .first_start = bits};
        bits += r->end - r->start;
    }
    b->starts = calloc((size_t)(bits / 8 + 1), 1);
    return b->starts != NULL;
}

static void check_entry(struct rb_code_sweep *b, uint64_t address)
{
    struct rb_code_function *f = rb_code_function_at(b, address);

    if (f && f->fate == RB_CODE_KEPT && !is_start(b, f->first_start + (address - f->range.start)))
        f->fate = RB_CODE_ENTERED;
}

static int sweep_all(struct rb_code_sweep *b, struct rb_error *e)
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
        if (b->function[i].has_data && b->function[i].fate == RB_CODE_KEPT)
            b->function[i].fate = RB_CODE_HAS_DATA;
    return 0;
}

int rb_code_sweep_open(struct rb_code_sweep *b, const char *path, struct rb_error *e)
{
    *b = (struct rb_code_sweep){0};
    int failed = rb_code_file_open(&b->file, path, e);
    if (!failed)
        failed = rb_code_file_read(&b->file, e);
    return failed ? failed : sweep_all(b, e);
}

void rb_code_sweep_close(struct rb_code_sweep *b)
{
    rb_code_file_close(&b->file);
    free(b->function);
    free(b->row);
    free(b->target);
    free(b->starts);
    *b = (struct rb_code_sweep){0};
}
