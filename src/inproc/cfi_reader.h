// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the bytes of call frame information and never passes their end: a reader at its end stays there and
// is `bad`. Arithmetic is unsigned, so malformed input wraps instead of being undefined.
#ifndef RB_INPROC_CFI_READER_H
#define RB_INPROC_CFI_READER_H

#include "base/types.h"

// Encodings of pointers: their size (PE_FORMAT) and their base (PE_BASE).
#define PE_OMIT     0xff
#define PE_INDIRECT 0x80
#define PE_FORMAT   0x0f
#define PE_BASE     0x70

enum { PE_ABSOLUTE = 0, PE_PCREL = 0x10, PE_DATAREL = 0x30, PE_ALIGNED = 0x50 };
enum { PE_ULEB = 1, PE_U2 = 2, PE_U4 = 3, PE_U8 = 4, PE_SLEB = 9, PE_S2 = 10, PE_S4 = 11, PE_S8 = 12 };

struct reader {
    const uint8_t *at, *end;
    bool bad; // read past the end, or met an impossible value
};

static inline size_t reader_left(const struct reader *r)
{
    return (size_t)(r->end - r->at);
}

static inline uint64_t reader_fail(struct reader *r)
{
    r->bad = true;
    r->at = r->end;
    return 0;
}

static inline uint64_t reader_take(struct reader *r, unsigned bytes)
{
    uint64_t value = 0;

    if (reader_left(r) < bytes)
        return reader_fail(r);
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)r->at[i] << 8 * i;
    r->at += bytes;
    return value;
}

static inline uint64_t reader_take_signed(struct reader *r, unsigned bytes)
{
    const unsigned unused = 64 - 8 * bytes;

    return (uint64_t)((int64_t)(reader_take(r, bytes) << unused) >> unused);
}

static inline uint64_t reader_leb(struct reader *r, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;

    do {
        if (r->at == r->end || shift > 63)
            return reader_fail(r);
        byte = *r->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (is_signed && shift < 64 && byte & 0x40)
        value |= ~UINT64_C(0) << shift;
    return value;
}

static inline void reader_skip(struct reader *r, uint64_t bytes)
{
    if (bytes > reader_left(r))
        reader_fail(r);
    else
        r->at += bytes;
}

// Returns the next `bytes` bytes as a reader of their own.
static inline struct reader reader_part(struct reader *r, uint64_t bytes)
{
    struct reader p = {r->at, r->at, false};

    reader_skip(r, bytes);
    if (r->bad)
        p.bad = true;
    else
        p.end = r->at;
    return p;
}

// Reads an encoded pointer. The encodings relative to text or function start, and indirect, never occur in
// our input.
static inline uintptr_t reader_pointer(struct reader *r, uint8_t encoding, uintptr_t data)
{
    const uintptr_t here = (uintptr_t)r->at;
    uint64_t value;

    if (encoding == PE_ALIGNED) {
        reader_skip(r, -here & 7);
        return reader_take(r, 8);
    }
    switch (encoding & PE_FORMAT) {
    case PE_ABSOLUTE:
    case PE_U8:
    case PE_S8:
        value = reader_take(r, 8);
        break;
    case PE_ULEB:
        value = reader_leb(r, false);
        break;
    case PE_SLEB:
        value = reader_leb(r, true);
        break;
    case PE_U2:
        value = reader_take(r, 2);
        break;
    case PE_U4:
        value = reader_take(r, 4);
        break;
    case PE_S2:
        value = reader_take_signed(r, 2);
        break;
    case PE_S4:
        value = reader_take_signed(r, 4);
        break;
    default:
        return reader_fail(r);
    }
    if (encoding & PE_INDIRECT)
        return reader_fail(r);
    if (value == 0) // "none" in every encoding
        return 0;
    switch (encoding & PE_BASE) {
    case PE_ABSOLUTE:
        return value;
    case PE_PCREL:
        return here + value;
    case PE_DATAREL:
        return data ? data + value : reader_fail(r);
    default:
        return reader_fail(r);
    }
}

#endif
