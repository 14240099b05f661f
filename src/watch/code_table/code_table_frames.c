// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of a module, from .eh_frame: every function that a compiler makes has an entry there, also
// in stripped files. The entry also tells whether rbp is a frame pointer. (LSB Core, section 10.6; DWARF 4,
// sections 6.4 and 7.23.)
//
// Invariant: reads only the bytes it is given. An entry that is not understood is left out; an entry with a
// wrong length ends the reading. A function that is not known costs sites, nothing else.
#include <stdlib.h>
#include <string.h>

#include "watch/code_table/code_table_elf.h"

#define RBP 6u // in DWARF's numbers

enum {
    PE_OMIT = 0xff,
    PE_FORM = 0x0f,
    PE_WHENCE = 0x70,
    PE_PCREL = 0x10,
    PE_INDIRECT = 0x80,
};

// The rest of the bytes; `bad` once they end too early.
struct cursor {
    const uint8_t *at, *end;
    bool bad;
};

static uint64_t read_fixed(struct cursor *c, unsigned bytes)
{
    uint64_t value = 0;

    if ((size_t)(c->end - c->at) < bytes) {
        c->bad = true;
        c->at = c->end;
        return 0;
    }
    memcpy(&value, c->at, bytes);
    c->at += bytes;
    return value;
}

static uint64_t read_leb(struct cursor *c, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        byte = (uint8_t)read_fixed(c, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80 && !c->bad);
    if (is_signed && byte & 0x40 && shift < 64)
        value |= ~(uint64_t)0 << shift;
    return value;
}

static void skip_bytes(struct cursor *c, uint64_t bytes)
{
    if (bytes > (uint64_t)(c->end - c->at)) {
        c->bad = true;
        c->at = c->end;
    } else {
        c->at += bytes;
    }
}

// Reads a pointer in `encoding`. `relative`: also adds the place it stands at.
static uint64_t read_pointer(struct cursor *c, uint8_t encoding, bool relative, const uint8_t *data,
                             uint64_t address)
{
    const uint64_t place = address + (uint64_t)(c->at - data);
    uint64_t value = 0;

    switch (encoding & PE_FORM) {
    case 0x00: // as wide as an address
    case 0x04:
    case 0x0c:
        value = read_fixed(c, 8);
        break;
    case 0x01:
        value = read_leb(c, false);
        break;
    case 0x02:
        value = read_fixed(c, 2);
        break;
    case 0x03:
        value = read_fixed(c, 4);
        break;
    case 0x09:
        value = read_leb(c, true);
        break;
    case 0x0a:
        value = (uint64_t)(int64_t)(int16_t)read_fixed(c, 2);
        break;
    case 0x0b:
        value = (uint64_t)(int64_t)(int32_t)read_fixed(c, 4);
        break;
    default:
        c->bad = true;
    }
    if (relative && (encoding & PE_WHENCE) == PE_PCREL)
        value += place;
    else if (relative && encoding & (PE_WHENCE | PE_INDIRECT))
        c->bad = true;
    return value;
}

struct cie {
    uint8_t encoding;
    bool sized; // augmentation data has a length ('z')
    bool frame_pointer;
    bool signal; // of code that the kernel returns to
};

// Returns true if an expression begins with rbp.
static bool expression_has_rbp(struct cursor *c)
{
    const uint64_t bytes = read_leb(c, false);
    const uint8_t *at = c->at;

    skip_bytes(c, bytes);
    return !c->bad && bytes && at[0] == 0x70 + RBP;
}

// Runs call frame instructions. Returns true if the frame's address, or a register's place, is ever made of
// rbp.
static bool is_frame_pointer(struct cursor c, uint8_t encoding)
{
    bool found = false;

    while (c.at < c.end && !c.bad) {
        const uint8_t op = (uint8_t)read_fixed(&c, 1);
        switch (op >> 6) {
        case 1: // advance_loc
        case 3: // restore
            continue;
        case 2: // offset
            read_leb(&c, false);
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
            read_pointer(&c, encoding, false, c.at, 0);
            break;
        case 0x02: // advance_loc1, 2, 4
            skip_bytes(&c, 1);
            break;
        case 0x03:
            skip_bytes(&c, 2);
            break;
        case 0x04:
            skip_bytes(&c, 4);
            break;
        case 0x06: // restore_extended
        case 0x07: // undefined
        case 0x08: // same_value
        case 0x0e: // def_cfa_offset
        case 0x13: // def_cfa_offset_sf
        case 0x2e: // GNU_args_size
            read_leb(&c, false);
            break;
        case 0x05: // offset_extended
        case 0x09: // register
        case 0x11: // offset_extended_sf
        case 0x14: // val_offset
        case 0x15: // val_offset_sf
        case 0x2f: // GNU_negative_offset_extended
            read_leb(&c, false);
            read_leb(&c, false);
            break;
        case 0x0c: // def_cfa
        case 0x12: // def_cfa_sf
            found |= read_leb(&c, false) == RBP;
            read_leb(&c, false);
            break;
        case 0x0d: // def_cfa_register
            found |= read_leb(&c, false) == RBP;
            break;
        case 0x0f: // def_cfa_expression
            found |= expression_has_rbp(&c);
            break;
        case 0x10: // expression
        case 0x16: // val_expression
            read_leb(&c, false);
            found |= expression_has_rbp(&c);
            break;
        default: // not known: the operands cannot be skipped, so rbp may be one
            return true;
        }
    }
    return found || c.bad;
}

// Reads a CIE after its id. Returns false if it is not understood.
static bool read_cie(struct cursor c, struct cie *cie)
{
    *cie = (struct cie){.encoding = 0};
    const uint8_t version = (uint8_t)read_fixed(&c, 1);
    const char *augmentation = (const char *)c.at;
    const uint8_t *nul = c.at < c.end ? memchr(c.at, 0, (size_t)(c.end - c.at)) : NULL;

    if (!nul || (version != 1 && version != 3))
        return false;
    c.at = nul + 1;
    read_leb(&c, false); // code alignment
    read_leb(&c, true);  // data alignment
    if (version == 1)
        read_fixed(&c, 1);
    else
        read_leb(&c, false);
    if (augmentation[0] == 'z') {
        const uint64_t bytes = read_leb(&c, false);
        struct cursor inner = c;
        skip_bytes(&c, bytes);
        if (c.bad)
            return false;
        inner.end = c.at;
        cie->sized = true;
        for (const char *a = augmentation + 1; *a; a++) {
            if (*a == 'R') {
                cie->encoding = (uint8_t)read_fixed(&inner, 1);
            } else if (*a == 'P') {
                const uint8_t encoding = (uint8_t)read_fixed(&inner, 1);
                read_pointer(&inner, encoding, false, inner.at, 0);
            } else if (*a == 'L') {
                read_fixed(&inner, 1);
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
    return !c.bad && cie->encoding != PE_OMIT;
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

int rb_code_frames(struct rb_code_file *f, const uint8_t *data, size_t bytes, uint64_t address,
                   struct rb_error *e)
{
    struct cursor all = {data, data + bytes, false};
    const uint8_t *last_cie = NULL;
    struct cie cie = {0};
    bool known = false;

    while (all.end - all.at >= 4) {
        uint64_t length = read_fixed(&all, 4);
        if (length == 0xffffffffu)
            length = read_fixed(&all, 8);
        if (!length || length > (uint64_t)(all.end - all.at)) // the end, or nonsense
            break;
        struct cursor c = {all.at, all.at + length, false};
        all.at = c.end;
        const uint8_t *at_id = c.at;
        const uint64_t id = read_fixed(&c, 4);
        if (!id || c.bad)
            continue; // a CIE is read when an entry needs it
        if (id > (uint64_t)(at_id - data))
            continue;
        const uint8_t *of = at_id - id;
        if (of != last_cie) {
            struct cursor head = {of, data + bytes, false};
            const uint64_t head_bytes = read_fixed(&head, 4);
            last_cie = of;
            known = !head.bad && head_bytes >= 4 && head_bytes <= (uint64_t)(head.end - head.at);
            if (known) {
                head.end = head.at + head_bytes;
                known = read_fixed(&head, 4) == 0 && read_cie(head, &cie);
            }
        }
        if (!known || cie.signal) // signal frames begin a byte before their code, for the unwinder
            continue;
        struct rb_code_range r = {0};
        r.start = read_pointer(&c, cie.encoding, true, data, address);
        const uint64_t size = read_pointer(&c, cie.encoding, false, data, address);
        if (cie.sized)
            skip_bytes(&c, read_leb(&c, false));
        if (c.bad || !size || r.start + size < r.start)
            continue;
        r.end = r.start + size;
        r.frame_pointer = cie.frame_pointer || is_frame_pointer(c, cie.encoding);
        const int failed = append_range(f, &r, e);
        if (failed)
            return failed;
    }
    return 0;
}
