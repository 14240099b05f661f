// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The atomic read-modify-write instructions of a module: `lock` with any operation, and xchg with memory.
//
// The tool decodes (watch/code_table/rmw_build.c) and writes a table once for each build-id, beside the
// module's code table. The runtime hooks the instructions (run/unseen). Offsets are addresses of the ELF file.
// A row says which bytes a jump may take the place of: those of the instruction, and those of instructions
// behind it, which then move with it.
//
// Invariant: no branch, symbol, relocation, landing pad or return address leads into the bytes of a row behind
// its first one. A row has the bytes themselves: where the memory has others, nothing is written.
#ifndef RB_BASE_RMW_TABLE_H
#define RB_BASE_RMW_TABLE_H

#include "base/types.h"

#define RB_RMW_MAGIC    "RBRMW\n\x1a"
#define RB_RMW_VERSION  1u
#define RB_RMW_ID_BYTES 20u
#define RB_RMW_JUMP     5u  // bytes of the jump to a trampoline
#define RB_RMW_BYTES    20u // of a row, at most
#define RB_RMW_MOVES    4u

#define RB_RMW_NONE 0xffu // no register
#define RB_RMW_RIP  16u   // base: the end of the instruction

enum rb_rmw_move_kind {
    RB_RMW_COPIED,   // runs at any place
    RB_RMW_RELATIVE, // has a 32-bit distance to memory, at `at`
    RB_RMW_BRANCH,   // jmp or jcc with a distance of 8 or 32 bits, at `at`
    RB_RMW_PADDING,  // is never reached
    RB_RMW_MOVE_KINDS,
};

// An instruction behind the atomic one that moves with it.
struct rb_rmw_move {
    uint8_t length, kind, at, reserved;
};

// Registers have the numbers of the encoding: rax rcx rdx rbx rsp rbp rsi rdi r8 ... r15.
struct rb_rmw_row {
    uint32_t offset;
    int32_t displacement;
    uint8_t length;      // of the instruction
    uint8_t taken;       // bytes of it and of those that move; below RB_RMW_JUMP there is no room for a jump
    uint8_t base, index; // of the operand
    uint8_t scale;       // log2
    uint8_t size;        // bytes of the operand
    uint8_t bit;         // register with the number of a bit, of a bit string; or RB_RMW_NONE
    uint8_t modrm;       // place of the ModRM byte in the instruction
    uint8_t moves, reserved[3];
    struct rb_rmw_move move[RB_RMW_MOVES];
    uint8_t bytes[RB_RMW_BYTES]; // `taken` of them
};

struct rb_rmw_header {
    char magic[8];
    uint32_t version, header_bytes;
    uint8_t build_id[RB_RMW_ID_BYTES];
    uint32_t build_id_bytes;
    uint64_t file_bytes; // of this table
    uint32_t rows;
    uint32_t with_room;   // rows with RB_RMW_JUMP bytes of their own,
    uint32_t with_moves;  // and rows with as many by instructions that move
    uint32_t left_out;    // instructions without a row: operands of the thread, or of no usable form
    uint32_t not_certain; // code bytes that may hold others (code_table_sweep.h)
    uint32_t checksum;    // of everything before it, and everything after the header
};

struct rb_rmw_table {
    const struct rb_rmw_header *header;
    const struct rb_rmw_row *row;
    size_t mapped;
};

// Reads and checks the whole table: a copy, so that the checked bytes are the bytes in use. Another user's
// file is refused, and one that all may write. Returns NULL, or the fault in words ("" if there is no such
// file).
const char *rb_rmw_table_open(struct rb_rmw_table *t, const char *path, const uint8_t *build_id,
                              uint32_t bytes);
// Returns NULL, or the fault of a table in memory.
const char *rb_rmw_table_check(struct rb_rmw_table *t, const void *data, size_t bytes,
                               const uint8_t *build_id, uint32_t id_bytes);
void rb_rmw_table_close(struct rb_rmw_table *t);
uint32_t rb_rmw_checksum(const struct rb_rmw_header *header); // with the rows after it

#endif
