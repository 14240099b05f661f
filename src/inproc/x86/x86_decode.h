// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Decodes one x86-64 instruction, by one table of opcodes (x86_opcodes.def). libc's headers alone, no state.
//
// The result has all that is needed to copy an instruction to another place: where its bytes are, what is relative to its
// end, and whether it is an atomic operation on memory. It also says which memory the instruction touches, as far as the
// table knows.
//
// Invariant: no byte outside of [code, code + bytes) is read, whatever the bytes are. Each instruction of a processor has
// its right length. A form that the table does not know further has RB_X86_OPEN. Bytes that are no instruction may have a
// result too: the caller knows where code is.
#ifndef RB_INPROC_X86_X86_DECODE_H
#define RB_INPROC_X86_X86_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RB_X86_MOST_BYTES 15u   // of an instruction
#define RB_X86_NONE       0xffu // no register
#define RB_X86_RIP        16u   // base: the end of the instruction

// Registers have the numbers of the encoding: rax rcx rdx rbx rsp rbp rsi rdi r8 ... r15.

enum rb_x86_encoding { RB_X86_LEGACY, RB_X86_VEX, RB_X86_EVEX, RB_X86_XOP };
enum rb_x86_segment { RB_X86_FLAT, RB_X86_FS, RB_X86_GS };

enum rb_x86_flag {
    // prefixes
    RB_X86_LOCK = 1 << 0,
    RB_X86_REP = 1 << 1,       // F3
    RB_X86_REPNE = 1 << 2,     // F2
    RB_X86_OPERAND16 = 1 << 3, // 66
    RB_X86_ADDRESS32 = 1 << 4, // 67: the registers of the address count with 32 bits
    RB_X86_REX = 1 << 5,
    RB_X86_WIDE = 1 << 6, // REX.W, or that of VEX
    RB_X86_LONG = 1 << 7, // VEX.L
    // the operand in memory
    RB_X86_MEMORY = 1 << 8,  // there is one, also of lea and nop
    RB_X86_READS = 1 << 9,   // it is read
    RB_X86_WRITES = 1 << 10, // it is written
    RB_X86_OPEN = 1 << 11,   // the table does not say whether, nor its size
    RB_X86_SPREAD = 1 << 12, // the address is not the whole truth: bit strings, gathers
    RB_X86_SCALED = 1 << 13, // the displacement counts in units that the table does not know (EVEX)
    RB_X86_PART = 1 << 24,   // a part of it is enough, and some processors touch no more
    // the instruction
    RB_X86_ATOMIC = 1 << 14, // lock, or xchg with memory
    RB_X86_STACK = 1 << 15,  // uses the stack by itself: push, pop, call, ret, enter, leave
    RB_X86_STRING = 1 << 16, // touches memory without an operand in it: movs and the like, xlat
    RB_X86_JUMP = 1 << 17,
    RB_X86_BRANCH = 1 << 18, // conditional, or loop, or xbegin
    RB_X86_CALL = 1 << 19,
    RB_X86_RETURN = 1 << 20,
    RB_X86_SYSTEM = 1 << 21,   // leaves to the kernel, or never continues: syscall, int3, hlt, ud2
    RB_X86_RELATIVE = 1 << 22, // the immediate is a distance from the end of the instruction
    // Changes registers, flags and its operand in memory at the most: no stack pointer, no string, no control, no atomic
    // operation. `written` is valid.
    RB_X86_PLAIN = 1 << 23,
};

#define RB_X86_FLOW (RB_X86_JUMP | RB_X86_BRANCH | RB_X86_CALL | RB_X86_RETURN | RB_X86_SYSTEM)

struct rb_x86 {
    uint8_t length;
    uint8_t encoding; // enum rb_x86_encoding
    uint8_t map; // 0: one byte, 1: 0F, 2: 0F 38, 3: 0F 3A; with EVEX and XOP the number that is written there
    uint8_t opcode;
    uint8_t opcode_at; // prefixes are in front of it, with the bytes of the map, of VEX or of EVEX
    uint8_t modrm_at;  // 0: none
    uint8_t displacement_at, displacement_bytes; // 0, 0: none
    uint8_t immediate_at, immediate_bytes;       // of all immediates
    uint8_t reg;                                 // ModRM.reg, with REX.R
    uint8_t rm;           // the register if the operand is one, with REX.B; else RB_X86_NONE
    uint8_t base, index;  // of the operand in memory; RB_X86_NONE, RB_X86_RIP
    uint8_t scale;        // log2
    uint8_t segment;      // enum rb_x86_segment
    uint8_t size;         // bytes of the operand in memory; 0 if RB_X86_OPEN, or no access
    uint16_t written;     // general registers that are written, a bit each (RB_X86_PLAIN)
    uint32_t flags;       // enum rb_x86_flag
    int64_t displacement; // or the absolute address
    int64_t immediate;    // sign-extended; of several the first
};

// Decodes the instruction at `code`, of which `bytes` bytes are readable. Returns false if it is none, or is not whole.
__attribute__((visibility("hidden"))) bool rb_x86_decode(const uint8_t *code, size_t bytes, struct rb_x86 *x);

#endif
