// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Text built in a fixed buffer: JSON for reports and statistics, without stdio. Text that does not fit is
// left out and sets `full`.
#ifndef RB_INPROC_TEXT_BUFFER_H
#define RB_INPROC_TEXT_BUFFER_H

#include "base/types.h"

struct rb_text {
    char *at, *end, *start;
    bool full;
};

RB_INLINE void rb_text_init(struct rb_text *t, char *buffer, size_t size)
{
    *t = (struct rb_text){buffer, buffer + size, buffer, false};
}

static inline void rb_put_char(struct rb_text *t, char c)
{
    if (t->at < t->end)
        *t->at++ = c;
    else
        t->full = true;
}

static inline void rb_put(struct rb_text *t, const char *s)
{
    while (*s)
        rb_put_char(t, *s++);
}

static inline void rb_put_number(struct rb_text *t, uint64_t n)
{
    char digits[20];
    int i = 0;

    do
        digits[i++] = (char)('0' + n % 10);
    while (n /= 10);
    while (i)
        rb_put_char(t, digits[--i]);
}

// Puts a number of parts: with 3 digits 1234 is "1.234".
static inline void rb_put_parts(struct rb_text *t, uint64_t n, unsigned digits)
{
    uint64_t one = 1;

    for (unsigned i = 0; i < digits; i++)
        one *= 10;
    rb_put_number(t, n / one);
    rb_put_char(t, '.');
    while (one /= 10)
        rb_put_char(t, (char)('0' + n / one % 10));
}

static inline void rb_put_hex(struct rb_text *t, uint64_t n)
{
    int shift = 60;

    rb_put(t, "0x");
    while (shift && !(n >> shift))
        shift -= 4;
    for (; shift >= 0; shift -= 4)
        rb_put_char(t, "0123456789abcdef"[n >> shift & 15]);
}

// Puts a JSON string. Bytes beyond ASCII are passed on: names are UTF-8, or the reader replaces them.
static inline void rb_put_string(struct rb_text *t, const char *s)
{
    rb_put_char(t, '"');
    for (; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\') {
            rb_put_char(t, '\\');
            rb_put_char(t, (char)c);
        } else if (c < 0x20) {
            rb_put(t, "\\u00");
            rb_put_char(t, "0123456789abcdef"[c >> 4]);
            rb_put_char(t, "0123456789abcdef"[c & 15]);
        } else {
            rb_put_char(t, (char)c);
        }
    }
    rb_put_char(t, '"');
}

#endif
