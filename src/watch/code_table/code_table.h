// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory accesses of a module's code: one row for each instruction that touches memory.
//
// The tool decodes (code_table_build.c, Zydis) and writes a table once for each build-id. The agent inside
// the program, which has libc alone, reads it. The table gives the memory that the instruction at a pc
// touches, and the instruction that has just ended at a pc. Rows are sorted by offset and can be searched.
// Offsets are addresses of the ELF file (the pc less the module's load bias).
//
// Invariant: a row describes the processor's accesses, or there is none. Bytes that may be data, or that
// two ways of decoding disagree about, have none. A site that is never sampled costs a chance; a byte
// written into the middle of an instruction costs the program.
#ifndef RB_WATCH_CODE_TABLE_CODE_TABLE_H
#define RB_WATCH_CODE_TABLE_CODE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#define RB_CODE_MAGIC    "RBCODE\n\x1a"
#define RB_CODE_VERSION  1u
#define RB_CODE_ID_BYTES 20u

enum rb_code_flag {
    RB_CODE_READ = 1,
    RB_CODE_WRITE = 2,
    RB_CODE_SITE = 4,      // may get a one-shot int3: the sampled side
    RB_CODE_LOCKED = 8,    // an atomic operation: lock prefix, or xchg with memory
    RB_CODE_STACK = 16,    // the address is made of the stack pointer, or of the frame pointer
    RB_CODE_REP = 32,      // repeats rcx times; the trap of a breakpoint comes at the instruction itself
    RB_CODE_LOST = 64,     // it overwrites a register of its address
    RB_CODE_MOVE = 128,    // compilers make atomic loads or stores of this form too: proves nothing
    RB_CODE_BRANCH = 256,  // call, jmp or ret: the pc after it is not at its end
    RB_CODE_MASKED = 512,  // touches fewer bytes than `size`, by a mask (maskmov, AVX-512)
    RB_CODE_SPREAD = 1024, // gathers, scatters, bit strings: `size` and the address are not usable
    // Changes of the registers that the address is made of; the row's registers are those before the
    // instruction.
    RB_CODE_DOWN = 2048,        // push, call: rsp goes down by `size`
    RB_CODE_UP = 4096,          // pop, ret: up
    RB_CODE_STRING = 8192,      // rsi, rdi: by `size`, up or down by the direction flag
    RB_CODE_LOADED = 16384,     // with LOST: its low `size` bytes are now the loaded value
    RB_CODE_LOST_INDEX = 32768, // with LOST: it is the index that was overwritten, and not the base
};

#define RB_CODE_NONE 0xffu // no register
#define RB_CODE_RIP  16u   // base: the end of the instruction
#define RB_CODE_FS   0x10u // in scale_segment
#define RB_CODE_GS   0x20u

// One memory operand of one instruction. An instruction with two (movs, push mem, ...) has two rows, the
// read first, and at most one of them is a site. Registers have the numbers of the encoding: rax rcx rdx
// rbx rsp rbp rsi rdi r8 ... r15.
struct rb_code_row {
    uint32_t offset;
    int32_t displacement;
    uint16_t flags; // enum rb_code_flag
    uint16_t size;  // bytes; of one turn if it repeats
    uint8_t length; // of the instruction
    uint8_t base, index;
    uint8_t scale_segment; // scale's log2 in the low two bits; 0x10: fs, 0x20: gs
};

struct rb_code_header {
    char magic[8];
    uint32_t version, header_bytes;
    uint8_t build_id[RB_CODE_ID_BYTES];
    uint32_t build_id_bytes;
    uint64_t file_bytes; // of this table
    uint32_t rows, sites;
    uint64_t instructions, bytes_decoded, bytes_left_out;
    uint32_t checksum, reserved; // of everything before it, and everything after the header
    // rows times struct rb_code_row, then sites times uint32_t: indices of the rows that are sites
};

struct rb_code_table {
    const struct rb_code_header *header;
    const struct rb_code_row *row;
    const uint32_t *site;
    size_t mapped;
};

// The memory that an instruction touches.
struct rb_code_touch {
    uintptr_t address;
    uint32_t size;
    bool reads, writes;
    bool exact; // else only the watched bytes are known to be among them
};

// ---- in the agent: libc alone, async-signal-safe but for open and close --------------------------------

// Reads and checks the whole table. A build-id counts up to its 20th byte; with `bytes` 0 any will do.
// Returns NULL, or the fault in words ("" if there is no such file).
const char *rb_code_open(struct rb_code_table *t, const char *path, const uint8_t *build_id, uint32_t bytes);
void rb_code_close(struct rb_code_table *t);
// Finds the first row of the instruction at an offset. Returns the number of its rows, 0 if there is none.
unsigned rb_code_at(const struct rb_code_table *t, uint32_t offset, const struct rb_code_row **row);
// Does the same for the instruction that ends at an offset; 0 if overlapping lengths give several. A
// repeating instruction at the offset is included, and its rows come last: rb_code_touched() chooses.
// Branches do not continue at their end: 0.
unsigned rb_code_before(const struct rb_code_table *t, uint32_t offset, const struct rb_code_row **row);
// Computes the access before the instruction has run (int3): exact. `start` is its address in memory.
void rb_code_touch_before(const struct rb_code_row *row, uintptr_t start, const ucontext_t *context,
                          struct rb_code_touch *touch);
// Computes the access after it (a data breakpoint on `bytes` bytes at `watched`). The breakpoint must be
// off by now: if the address is lost the bytes are read. Returns false if it cannot have touched them.
bool rb_code_touch_after(const struct rb_code_row *row, uintptr_t start, const ucontext_t *context,
                         uintptr_t watched, unsigned bytes, struct rb_code_touch *touch);
// Chooses, of the rows that rb_code_before() gave, the one that touched the watched bytes: an exact one if
// there is any. Returns NULL if none can have. `bias` is the module's.
const struct rb_code_row *rb_code_touched(const struct rb_code_row *rows, unsigned count, uintptr_t bias,
                                          const ucontext_t *context, uintptr_t watched, unsigned bytes,
                                          struct rb_code_touch *touch);

// ---- for both sides ------------------------------------------------------------------------------------

uint32_t rb_code_checksum(const struct rb_code_header *header); // with the data after it, as its counts say
// Computes the substitute for the build-id of a file that has none.
void rb_code_hash(const uint8_t *data, size_t bytes, uint8_t id[RB_CODE_ID_BYTES]);

// Returns the number of instructions of an object file (x86-64, before it is linked) that lock memory; 0 for any
// other file (object_atomics.c).
size_t rb_object_atomics(const char *path);

#endif
