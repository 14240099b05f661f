// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "watch/code_table/code_table_cursor.h"

#include <string.h>

uint64_t rb_cursor_fixed(struct rb_cursor *c, unsigned bytes)
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

uint64_t rb_cursor_leb(struct rb_cursor *c, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        byte = (uint8_t)rb_cursor_fixed(c, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80 && !c->bad);
    if (is_signed && byte & 0x40 && shift < 64)
        value |= ~(uint64_t)0 << shift;
    return value;
}

void rb_cursor_skip(struct rb_cursor *c, uint64_t bytes)
{
    if (bytes > (uint64_t)(c->end - c->at)) {
        c->bad = true;
        c->at = c->end;
    } else {
        c->at += bytes;
    }
}

uint64_t rb_cursor_pointer(struct rb_cursor *c, uint8_t encoding, bool relative, const uint8_t *data,
                           uint64_t address)
{
    const uint64_t place = address + (uint64_t)(c->at - data);
    uint64_t value = 0;

    switch (encoding & RB_PE_FORM) {
    case 0x00: // as wide as an address
    case 0x04:
    case 0x0c:
        value = rb_cursor_fixed(c, 8);
        break;
    case 0x01:
        value = rb_cursor_leb(c, false);
        break;
    case 0x02:
        value = rb_cursor_fixed(c, 2);
        break;
    case 0x03:
        value = rb_cursor_fixed(c, 4);
        break;
    case 0x09:
        value = rb_cursor_leb(c, true);
        break;
    case 0x0a:
        value = (uint64_t)(int64_t)(int16_t)rb_cursor_fixed(c, 2);
        break;
    case 0x0b:
        value = (uint64_t)(int64_t)(int32_t)rb_cursor_fixed(c, 4);
        break;
    default:
        c->bad = true;
    }
    if (relative && (encoding & RB_PE_WHENCE) == RB_PE_PCREL)
        value += place;
    else if (relative && encoding & (RB_PE_WHENCE | RB_PE_INDIRECT))
        c->bad = true;
    return value;
}
