// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of a module, from .eh_frame: every function that a compiler makes has an entry there, also
// in stripped files. The entry also tells whether rbp is a frame pointer. (LSB Core, section 10.6; DWARF 4,
// sections 6.4 and 7.23.)
//
// Invariant: reads only the bytes it is given. An entry that is not understood is left out; an entry with a
// wrong length ends the reading. A function that is not known costs sites, nothing else.
#include <stdlib.h>
#include <string.h>

#include "watch/code_table/code_table_cursor.h"
#include "watch/code_table/code_table_elf.h"

#define RBP 6u // in DWARF's numbers

struct cie {
    uint8_t encoding;
    uint8_t landing; // encoding of the pointer to the landing pads of a function
    bool sized;      // augmentation data has a length ('z')
    bool frame_pointer;
    bool signal; // of code that the kernel returns to
};

// Returns true if an expression begins with rbp.
static bool expression_has_rbp(struct rb_cursor *c)
{
    const uint64_t bytes = rb_cursor_leb(c, false);
    const uint8_t *at = c->at;

    rb_cursor_skip(c, bytes);
    return !c->bad && bytes && at[0] == 0x70 + RBP;
}

// Runs call frame instructions. Returns true if the frame's address, or a register's place, is ever made of
// rbp.
static bool is_frame_pointer(struct rb_cursor c, uint8_t encoding)
{
    bool found = false;

    while (c.at < c.end && !c.bad) {
        const uint8_t op = (uint8_t)rb_cursor_fixed(&c, 1);
        switch (op >> 6) {
        case 1: // advance_loc
        case 3: // restore
            continue;
        case 2: // offset
            rb_cursor_leb(&c, false);
            continue;
        default:
            break;
        }
        switch (op) {
        case 0x00: // nop
        case 0x0a: // remember_state
        case 0x0b: // restore_state
        case 0x2d: // GNU_window_save
            break;
        case 0x01: // set_loc
            rb_cursor_pointer(&c, encoding, false, c.at, 0);
            break;
        case 0x02: // advance_loc1, 2, 4
            rb_cursor_skip(&c, 1);
            break;
        case 0x03:
            rb_cursor_skip(&c, 2);
            break;
        case 0x04:
            rb_cursor_skip(&c, 4);
            break;
        case 0x06: // restore_extended
        case 0x07: // undefined
        case 0x08: // same_value
        case 0x0e: // def_cfa_offset
        case 0x13: // def_cfa_offset_sf
        case 0x2e: // GNU_args_size
            rb_cursor_leb(&c, false);
            break;
        case 0x05: // offset_extended
        case 0x09: // register
        case 0x11: // offset_extended_sf
        case 0x14: // val_offset
        case 0x15: // val_offset_sf
        case 0x2f: // GNU_negative_offset_extended
            rb_cursor_leb(&c, false);
            rb_cursor_leb(&c, false);
            break;
        case 0x0c: // def_cfa
        case 0x12: // def_cfa_sf
            found |= rb_cursor_leb(&c, false) == RBP;
            rb_cursor_leb(&c, false);
            break;
        case 0x0d: // def_cfa_register
            found |= rb_cursor_leb(&c, false) == RBP;
            break;
        case 0x0f: // def_cfa_expression
            found |= expression_has_rbp(&c);
            break;
        case 0x10: // expression
        case 0x16: // val_expression
            rb_cursor_leb(&c, false);
            found |= expression_has_rbp(&c);
            break;
        default: // not known: the operands cannot be skipped, so rbp may be one
            return true;
        }
    }
    return found || c.bad;
}

// Reads a CIE after its id. Returns false if it is not understood.
static bool read_cie(struct rb_cursor c, struct cie *cie)
{
    *cie = (struct cie){.encoding = 0, .landing = RB_PE_OMIT};
    const uint8_t version = (uint8_t)rb_cursor_fixed(&c, 1);
    const char *augmentation = (const char *)c.at;
    const uint8_t *nul = c.at < c.end ? memchr(c.at, 0, (size_t)(c.end - c.at)) : NULL;

    if (!nul || (version != 1 && version != 3))
        return false;
    c.at = nul + 1;
    rb_cursor_leb(&c, false); // code alignment
    rb_cursor_leb(&c, true);  // data alignment
    if (version == 1)
        rb_cursor_fixed(&c, 1);
    else
        rb_cursor_leb(&c, false);
    if (augmentation[0] == 'z') {
        const uint64_t bytes = rb_cursor_leb(&c, false);
        struct rb_cursor inner = c;
        rb_cursor_skip(&c, bytes);
        if (c.bad)
            return false;
        inner.end = c.at;
        cie->sized = true;
        for (const char *a = augmentation + 1; *a; a++) {
            if (*a == 'R') {
                cie->encoding = (uint8_t)rb_cursor_fixed(&inner, 1);
            } else if (*a == 'P') {
                const uint8_t encoding = (uint8_t)rb_cursor_fixed(&inner, 1);
                rb_cursor_pointer(&inner, encoding, false, inner.at, 0);
            } else if (*a == 'L') {
                cie->landing = (uint8_t)rb_cursor_fixed(&inner, 1);
            } else if (*a == 'S') {
                cie->signal = true;
            } else if (*a != 'B') {
                return false;
            }
        }
        if (inner.bad)
            return false;
    } else if (augmentation[0]) {
        return false;
    }
    cie->frame_pointer = is_frame_pointer(c, cie->encoding);
    return !c.bad && cie->encoding != RB_PE_OMIT;
}

static int append_range(struct rb_code_file *f, const struct rb_code_range *r, struct rb_error *e)
{
    if (f->ranges >= f->bytes / 8) // an entry is longer than that
        return rb_bad_input(e, "%s: damaged: .eh_frame has more functions than the file has room for",
                            f->path);
    if (!(f->ranges & (f->ranges + 1)) || !f->range) { // 0, 1, 3, 7, ...: full
        struct rb_code_range *more = realloc(f->range, (2 * f->ranges + 1) * sizeof(*more));
        if (!more)
            return rb_internal(e, "%s: no memory for %zu functions", f->path, f->ranges);
        f->range = more;
    }
    f->range[f->ranges++] = *r;
    return 0;
}

// Adds the landing pads of a function to the places that control may come to, from the table at `address`: where
// an exception continues (.gcc_except_table, LSB Core, section 10.6.3). Returns false if they are not known.
static bool add_landings(struct rb_code_file *f, uint64_t address, uint64_t function)
{
    size_t bytes = 0;
    const uint8_t *data = rb_code_file_bytes(f, address, &bytes);

    if (!data)
        return false;
    struct rb_cursor c = {data, data + bytes, false};
    uint8_t encoding = (uint8_t)rb_cursor_fixed(&c, 1);
    if (encoding != RB_PE_OMIT)
        function = rb_cursor_pointer(&c, encoding, true, data, address);
    if (rb_cursor_fixed(&c, 1) != RB_PE_OMIT)
        rb_cursor_leb(&c, false); // distance of the table of types
    encoding = (uint8_t)rb_cursor_fixed(&c, 1);
    const uint64_t calls = rb_cursor_leb(&c, false);
    struct rb_cursor each = c;
    rb_cursor_skip(&c, calls);
    if (c.bad)
        return false;
    each.end = c.at;
    while (each.at < each.end && !each.bad) {
        rb_cursor_pointer(&each, encoding, false, data, address); // start and length of the calls
        rb_cursor_pointer(&each, encoding, false, data, address);
        const uint64_t pad = rb_cursor_pointer(&each, encoding, false, data, address);
        rb_cursor_leb(&each, false); // action
        if (pad && !each.bad && !rb_code_file_add_start(f, function + pad))
            return false;
    }
    return !each.bad;
}

// Skips the augmentation data of an entry. Returns the address of its landing pads, or 0.
static uint64_t read_landing(struct rb_cursor *c, const struct cie *cie, const uint8_t *data,
                             uint64_t address)
{
    if (!cie->sized)
        return 0;
    const uint64_t bytes = rb_cursor_leb(c, false);
    struct rb_cursor inner = *c;
    rb_cursor_skip(c, bytes);
    if (c->bad || cie->landing == RB_PE_OMIT)
        return 0;
    inner.end = c->at;
    struct rb_cursor plain = inner;
    const uint64_t distance = rb_cursor_pointer(&plain, cie->landing, false, data, address);
    if (!distance && !plain.bad)
        return 0;
    const uint64_t place = rb_cursor_pointer(&inner, cie->landing, true, data, address);
    return inner.bad ? UINT64_MAX : place; // in no file: nothing is known about them
}

int rb_code_frames(struct rb_code_file *f, const uint8_t *data, size_t bytes, uint64_t address,
                   struct rb_error *e)
{
    struct rb_cursor all = {data, data + bytes, false};
    const uint8_t *last_cie = NULL;
    struct cie cie = {0};
    bool known = false;

    while (all.end - all.at >= 4) {
        uint64_t length = rb_cursor_fixed(&all, 4);
        if (length == 0xffffffffu)
            length = rb_cursor_fixed(&all, 8);
        if (!length || length > (uint64_t)(all.end - all.at)) // the end, or nonsense
            break;
        struct rb_cursor c = {all.at, all.at + length, false};
        all.at = c.end;
        const uint8_t *at_id = c.at;
        const uint64_t id = rb_cursor_fixed(&c, 4);
        if (!id || c.bad)
            continue; // a CIE is read when an entry needs it
        if (id > (uint64_t)(at_id - data))
            continue;
        const uint8_t *of = at_id - id;
        if (of != last_cie) {
            struct rb_cursor head = {of, data + bytes, false};
            const uint64_t head_bytes = rb_cursor_fixed(&head, 4);
            last_cie = of;
            known = !head.bad && head_bytes >= 4 && head_bytes <= (uint64_t)(head.end - head.at);
            if (known) {
                head.end = head.at + head_bytes;
                known = rb_cursor_fixed(&head, 4) == 0 && read_cie(head, &cie);
            }
        }
        if (!known || cie.signal) // signal frames begin a byte before their code, for the unwinder
            continue;
        struct rb_code_range r = {0};
        r.start = rb_cursor_pointer(&c, cie.encoding, true, data, address);
        const uint64_t size = rb_cursor_pointer(&c, cie.encoding, false, data, address);
        if (c.bad || !size || r.start + size < r.start)
            continue;
        r.end = r.start + size;
        const uint64_t landing = read_landing(&c, &cie, data, address);
        if (c.bad)
            continue;
        r.frame_pointer = cie.frame_pointer || is_frame_pointer(c, cie.encoding);
        r.lands_anywhere = landing && !add_landings(f, landing, r.start);
        const int failed = append_range(f, &r, e);
        if (failed)
            return failed;
    }
    return 0;
}
