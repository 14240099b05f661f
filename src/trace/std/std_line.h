// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One line of STD text, split. Shared by import and export, so that they agree on the valid contents of a
// line. Tool side.
#ifndef RB_TRACE_STD_STD_LINE_H
#define RB_TRACE_STD_STD_LINE_H

#include "base/error.h"
#include "trace/format.h"

#define RB_STD_MAX_LINE 65536u
#define RB_STD_PAD      64 // bytes behind the text that may be read

struct rb_std_line {
    const char *thread, *target; // in the line, not terminated
    uint32_t thread_length, target_length;
    int32_t location;
    enum rb_op op; // RB_MARK: `target` is the whole operation
};

// Parses a decimal number of 32 bits with sign, as Java does.
bool rb_std_location(const char *text, uint32_t length, int32_t *value);
// Operations other than r and w; `field` has `pipes` - 2 '|' in it.
bool rb_std_parse_op(const char *field, uint32_t length, unsigned pipes, struct rb_std_line *out);

// Does rb_std_location for the usual 1 to 8 digits without sign, all at once. The word that ends with the
// number, other bytes made '0', is checked and added up in three steps. Reads 8 bytes before the end of the
// text.
RB_INLINE bool rb_std_location_fast(const char *text, uint32_t length, int32_t *value)
{
    const uint64_t zeros = 0x3030303030303030u, high = 0xf0f0f0f0f0f0f0f0u;
    uint64_t w;

    if (RB_UNLIKELY(length - 1 > 7))
        return rb_std_location(text, length, value);
    memcpy(&w, text + length - 8, 8);
    const uint64_t other = (UINT64_C(1) << (8 * (8 - length))) - 1;
    w = (w & ~other) | (zeros & other);
    if (RB_UNLIKELY((w & high) != zeros || ((w + 0x0606060606060606u) & high) != zeros))
        return rb_std_location(text, length, value);
    w -= zeros;
    w = w * 10 + (w >> 8); // pairs of digits, in every other byte
    w = ((w & 0x000000ff000000ffu) * 0x000f424000000064u +
         (w >> 16 & 0x000000ff000000ffu) * 0x0000271000000001u) >>
        32;
    *value = (int32_t)w;
    return true;
}

// Splits the line. `first` and `last` are the offsets of its first and last '|', `pipes` their number (at
// least 2). Returns false if it is no event. Reads up to RB_STD_PAD bytes before and behind the line.
RB_INLINE bool rb_std_parse(const char *line, uint32_t length, uint32_t first, uint32_t last, unsigned pipes,
                            struct rb_std_line *out)
{
    const char *field = line + first + 1;
    const uint32_t n = last - first - 1;

    out->thread = line;
    out->thread_length = first;
    if (RB_UNLIKELY(!rb_std_location_fast(line + last + 1, length - last - 1, &out->location)))
        return false;
    if (RB_LIKELY(n >= 4 && field[1] == '(' && (field[0] == 'r' || field[0] == 'w') && pipes == 2)) {
        out->op = field[0] == 'r' ? RB_READ : RB_WRITE;
        out->target = field + 2;
        out->target_length = n - 3;
        return field[n - 1] == ')';
    }
    return n > 0 && rb_std_parse_op(field, n, pipes, out);
}

// Reports the fault of a line that rb_std_parse (or the search for its '|') refused.
int rb_std_explain(const char *path, uint64_t number, const char *line, uint32_t length, struct rb_error *e);

// Returns true if this operation, as a whole, is kept as a mark.
bool rb_std_is_mark(const char *text, uint32_t length);

// Copies `text` for a message: cut to the room, control characters as '?'. Returns `to`.
const char *rb_std_show(const char *text, uint32_t length, char *to, size_t room);

#endif
