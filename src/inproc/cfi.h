// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Call frame information (.eh_frame, .eh_frame_hdr; LSB 5 chapter 10, DWARF 4 section 6.4): from bytes and
// a pc to a rule. Pure: no state, no system call, no memory outside the bytes given. The bytes may have any
// contents; they need only be readable from `lo` to `hi`.
#ifndef RB_INPROC_CFI_H
#define RB_INPROC_CFI_H

#include "inproc/unwind_rule.h"

#pragma GCC visibility push(hidden)

struct rb_cfi_bytes {
    const uint8_t *lo, *hi; // lo <= hi
};

enum rb_cfi_found {
    RB_CFI_NONE,  // no entry describes the pc, or the header is malformed
    RB_CFI_ENTRY, // *address is the only entry that may describe it
    RB_CFI_SCAN,  // no table to search: *address is where the entries begin
};

// Searches the header's table for pc. The header begins at `bytes.lo`.
enum rb_cfi_found rb_cfi_search(struct rb_cfi_bytes bytes, uintptr_t pc, uintptr_t *address);

// Returns the rule that the entry at `entry` gives for the instruction at pc: STOP if it does not describe
// pc.
uint64_t rb_cfi_rule(struct rb_cfi_bytes bytes, uintptr_t entry, uintptr_t pc);

// Returns the rule of the first entry, of those from `entries` on, that describes pc.
uint64_t rb_cfi_scan(struct rb_cfi_bytes bytes, uintptr_t entries, uintptr_t pc);

#pragma GCC visibility pop

#endif
