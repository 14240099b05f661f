// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One instruction in the form of a code table. Tool side.
#ifndef RB_WATCH_CODE_TABLE_CODE_TABLE_DECODE_H
#define RB_WATCH_CODE_TABLE_CODE_TABLE_DECODE_H

#include <Zydis/Zydis.h>

#include "watch/code_table/code_table.h"

// The kind of an access, as compilers choose among kinds: code_table_forms.def.
enum rb_code_form {
#define FORM(name, gcc, clang, others, what) RB_CODE_FORM_##name,
#include "watch/code_table/code_table_forms.def"
#undef FORM
    RB_CODE_FORMS
};

struct rb_code_instruction {
    unsigned length;
    unsigned rows;
    struct rb_code_row row[2]; // without their offset; SITE unless the instruction rules it out
    enum rb_code_form form;
    bool has_target; // a direct jump or call
    uint64_t target;
    bool has_relative; // an operand that is relative to the instruction pointer
    bool is_address;   // only the address of this operand is taken
    uint64_t relative;
    bool makes_frame;    // rbp is made of rsp
    bool jumps_anywhere; // to an address in a register, or in memory other than a fixed word
};

// Decodes the instruction at `code` (which is at `address` in the module). Returns false if it is not an
// instruction.
bool rb_code_decode(const ZydisDecoder *decoder, const uint8_t *code, size_t bytes, uint64_t address,
                    struct rb_code_instruction *out);

#endif
