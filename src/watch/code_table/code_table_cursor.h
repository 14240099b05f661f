// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the numbers of .eh_frame and .gcc_except_table (DWARF 4, section 7.6; LSB Core, section 10.5), and no
// byte outside those it is given. Tool side.
#ifndef RB_WATCH_CODE_TABLE_CODE_TABLE_CURSOR_H
#define RB_WATCH_CODE_TABLE_CODE_TABLE_CURSOR_H

#include "base/types.h"

// Encodings of pointers.
enum {
    RB_PE_OMIT = 0xff,
    RB_PE_FORM = 0x0f,
    RB_PE_WHENCE = 0x70,
    RB_PE_PCREL = 0x10,
    RB_PE_INDIRECT = 0x80,
};

// The rest of the bytes; `bad` once they end too early.
struct rb_cursor {
    const uint8_t *at, *end;
    bool bad;
};

uint64_t rb_cursor_fixed(struct rb_cursor *c, unsigned bytes);
uint64_t rb_cursor_leb(struct rb_cursor *c, bool is_signed);
void rb_cursor_skip(struct rb_cursor *c, uint64_t bytes);
// Reads a pointer in `encoding`. `relative`: also adds the place it stands at. `data` is at `address`.
uint64_t rb_cursor_pointer(struct rb_cursor *c, uint8_t encoding, bool relative, const uint8_t *data,
                           uint64_t address);

#endif
