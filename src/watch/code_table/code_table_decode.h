// One instruction, as a code table has it. Tool side.
#ifndef RB_WATCH_CODE_TABLE_CODE_TABLE_DECODE_H
#define RB_WATCH_CODE_TABLE_CODE_TABLE_DECODE_H

#include <Zydis/Zydis.h>

#include "watch/code_table/code_table.h"

// What kind of an access it is, as far as compilers choose among kinds: code_table_forms.def.
enum rb_code_form {
#define FORM(name, gcc, clang, others, what) RB_CODE_FORM_##name,
#include "watch/code_table/code_table_forms.def"
#undef FORM
    RB_CODE_FORMS
};

struct rb_code_instruction {
    unsigned length;
    unsigned rows;
    struct rb_code_row
        row[2]; // without their offset; SITE where nothing in the instruction speaks against it
    enum rb_code_form form;
    bool has_target; // a direct jump or call
    uint64_t target;
    bool has_relative; // an operand that is relative to the instruction pointer
    bool is_address;   // of which the address alone is taken
    uint64_t relative;
    bool makes_frame; // rbp is made of rsp
};

// Decodes what is at `code` (which is at `address` in the module). False: not an instruction.
bool rb_code_decode(const ZydisDecoder *decoder, const uint8_t *code, size_t bytes, uint64_t address,
                    struct rb_code_instruction *out);

#endif
