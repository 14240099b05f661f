// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One pass over the code of a module: its functions, their memory accesses, and the places that code or data
// leads to. Tool side.
//
// A function is certain (RB_CODE_KEPT) under these conditions:
//   - It is a range that .eh_frame calls a function.
//   - Decoded from its start, one instruction after the other, it ends exactly at its end.
//   - No direct jump or call of the module, no symbol, no entry point, and no address that the code or a
//     relocation makes leads into the middle of one of its instructions.
//   - No instruction reads or writes there.
// Data among the code (jump tables, constants of assembly code) breaks one of these, or is not in such a
// range at all. Functions that are left out are counted.
#ifndef RB_WATCH_CODE_TABLE_CODE_TABLE_SWEEP_H
#define RB_WATCH_CODE_TABLE_CODE_TABLE_SWEEP_H

#include "watch/code_table/code_table_decode.h"
#include "watch/code_table/code_table_elf.h"

// The fate of a function: kept, or left out for a reason.
enum rb_code_fate { RB_CODE_KEPT, RB_CODE_INVALID, RB_CODE_ENTERED, RB_CODE_HAS_DATA };

struct rb_code_function {
    struct rb_code_range range;
    const uint8_t *code;
    size_t first_row, rows;
    uint64_t first_start, instructions; // its bits among the starts
    bool has_data;                      // an instruction reads or writes there
    bool jumps_anywhere;                // by an address in a register, or in memory
    enum rb_code_fate fate;
};

struct rb_code_sweep {
    struct rb_code_file file;
    ZydisDecoder decoder;
    struct rb_code_function *function;
    size_t functions;
    struct rb_code_row *row; // of all functions
    size_t rows, row_room;
    uint64_t *target; // direct jumps and calls, and addresses that instructions make
    size_t targets, target_room;
    uint8_t *starts; // a bit for each byte of all functions, one after the other: an instruction begins there
};

// Opens the file and goes over its code; `e` has the fault. To be closed in any case.
int rb_code_sweep_open(struct rb_code_sweep *b, const char *path, struct rb_error *e);
void rb_code_sweep_close(struct rb_code_sweep *b);
// Returns the function that holds the address, or NULL.
struct rb_code_function *rb_code_function_at(const struct rb_code_sweep *b, uint64_t address);

#endif
