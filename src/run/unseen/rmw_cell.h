// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Trampolines: a cell of code for each hooked instruction.
//
//   cell:    jmp *way                            way: hooked or plain
//   plain:   INSTRUCTION; jmp *later             later: next, or late
//   next:    instructions that moved; jmp back   (is the way back itself if none moved)
//   hooked:  lea -128(%rsp),%rsp; push pc; push site; call *before
//            INSTRUCTION                         address of its operand at (%rsp)
//   after:   push site; call *after              which takes all of that off the stack
//            jmp next
//   late:    lea -128(%rsp),%rsp; push pc; push site; jmp after
//
// `way` and `later` are words of data, so that a pause writes no code: with tracking paused the cost is two
// jumps and the instruction. A thread that was on the plain way when tracking began again comes by `late`,
// where `address` is the site itself. Then an edge may be lost (docs/explanation/runtime.md, section 3).
//
// Invariant: between two instructions of a cell the state of the thread is that of the program between two
// of its own, but for rip and rsp. rb_rmw_cell_place() gives these.
#ifndef RB_RUN_UNSEEN_RMW_CELL_H
#define RB_RUN_UNSEEN_RMW_CELL_H

#include "base/rmw_table.h"
#include "run/core/rt.h"

#define RB_RMW_CELL    128u // bytes of a cell
#define RB_RMW_LOWERED 144  // bytes between the program's rsp and that at the instruction

// How an instruction is hooked.
enum rb_rmw_way { RB_RMW_REFUSED, RB_RMW_BY_JUMP, RB_RMW_BY_TRAP };

// The beginning is read by cells and by rmw_arch_x86_64.S.
struct rb_rmw_site {
    uintptr_t pc;             // of the instruction
    struct rb_rmw_site *self; // pushed
    uint32_t library;
    int32_t displacement;
    uint8_t length, taken;
    uint8_t base, index, scale, size, bit;
    uint8_t way; // enum rb_rmw_way
    bool in;     // the code has our bytes
    bool due;    // is being changed
    uint8_t moves;
    uint8_t move_from[RB_RMW_MOVES]; // of the instructions that moved, from pc
    uint8_t move_at[RB_RMW_MOVES];   // in the cell
    uint8_t next, hooked, after, late, end;
    uint8_t original[RB_RMW_JUMP]; // bytes that ours take the place of
    uint32_t hits;                 // of an int3, since
    uint64_t since;                // in ticks
};

// Words of data that a cell jumps by.
struct rb_rmw_slot {
    uintptr_t way, later;
};

// Calls that all cells of a module share.
struct rb_rmw_calls {
    uintptr_t before, after;
};

// Fills in the site and writes its cell. Returns false if something is out of the reach of a jump.
RB_HIDDEN bool rb_rmw_cell_make(unsigned char *cell, struct rb_rmw_site *site, const struct rb_rmw_slot *slot,
                                const struct rb_rmw_calls *calls, const struct rb_rmw_row *row);
// Returns the values of a slot, for a cell in use or paused.
RB_HIDDEN struct rb_rmw_slot rb_rmw_cell_ways(const unsigned char *cell, const struct rb_rmw_site *site,
                                              bool on);

// Finds the program's place for a place in the cell: *pc, and the bytes that rsp is lowered by.
RB_HIDDEN void rb_rmw_cell_place(const struct rb_rmw_site *site, unsigned offset, uintptr_t *pc,
                                 unsigned *lowered);
// Returns the place in the cell of an instruction that moved; 0 if none has this pc.
RB_HIDDEN unsigned rb_rmw_cell_of(const struct rb_rmw_site *site, uintptr_t pc);

// ---- rmw_arch_x86_64.S ---------------------------------------------------------------------------------

// The registers of the program at an instruction, as `before` finds them.
struct rb_rmw_frame {
    uintptr_t reg[16]; // by the numbers of the encoding; that of rsp is not the program's
    uintptr_t back;    // into the cell
    uintptr_t address; // the site; the instruction finds the address of its operand here
    uintptr_t pc;
};

RB_HIDDEN void rb_rmw_stub_before(void);
RB_HIDDEN void rb_rmw_stub_after(void);
// Calls the function with the vector registers saved.
RB_HIDDEN void rb_rmw_call_saved(void (*function)(unsigned, uintptr_t), unsigned library, uintptr_t address);
extern RB_HIDDEN uint32_t rb_rmw_vectors; // components of vector registers beyond SSE, as in XCR0
extern RB_HIDDEN bool rb_rmw_asks;        // the processor says which of them are in use

// ---- rmw_hook.c: called by the stubs, compiled with general registers alone ----------------------------

RB_HIDDEN void rb_rmw_before(struct rb_rmw_frame *frame);
RB_HIDDEN void rb_rmw_after(const struct rb_rmw_site *site, uintptr_t address);
// Counts the edge of an instruction that ran while tracking began again.
RB_HIDDEN void rb_rmw_lost(unsigned library, uintptr_t address);

#endif
