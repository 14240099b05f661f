// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The variables of a recording. The program accesses bytes, in pieces of any size; variables of a trace are
// equal or different. The mapping ensures that two accesses share a variable exactly if they share a byte:
//
//   parts    A first pass notes where accesses begin and end. Between two such places no access begins or
//            ends, so the bytes there are accessed together or not at all: a part. An access touches all
//            parts of its range, most often one. Parts do not cross pages of 4 KiB.
//   lives    Memory that starts anew (malloc, a new stack) gets new variables, and all memory does when the
//            runtime lost an ordering (`generation`).
//   atomics  An atomic access conflicts with plain ones only. Where both kinds are used on a granule of 8
//            bytes, thread u's atomic accesses touch a variable of their own, (part, u), and every plain
//            access to the part touches those of all other threads u as well as its own. Elsewhere atomic
//            accesses touch no variable.
//
// Memory: 776 bytes for each page accessed, and four for each place noted. Tool side.
#ifndef RB_LAB_RECORD_MERGE_MEMORY_H
#define RB_LAB_RECORD_MERGE_MEMORY_H

#include "lab/replay/hash_tables.h"

#define RB_MEMORY_PAGE  4096u
#define RB_MEMORY_NAMED (1u << 20) // with fewer variables their addresses are kept, for names

struct rb_memory_page {
    uint64_t number;
    uint64_t begins[RB_MEMORY_PAGE / 64]; // bit i: a part begins at byte i
    uint64_t plain[8], atomic[8];         // bit g: granule g has such accesses
    uint16_t before[RB_MEMORY_PAGE / 64]; // number of parts that begin in earlier words
    uint32_t *id;                         // variable + 1 of each part; below `floor`: none in this life
};

struct rb_memory_name {
    uint64_t address;
    uint32_t thread; // + 1, for the variable of atomic accesses; 0: the part's own variable
};

struct rb_memory {
    struct rb_memory_page **slot; // by number, linear probing
    uint64_t slots, pages;        // slots: a power of two, or 0
    struct rb_memory_page *last;  // the page found last

    struct rb_id_map pairs; // (granule, thread) with atomic accesses; then (part, thread) -> `shared`
    uint64_t *pair;         // first pass: all of them; then the relevant ones, sorted
    uint64_t pair_count, pair_room;
    uint32_t *shared; // variable + 1 of each (part, thread)
    uint64_t shared_room;

    uint32_t next, floor; // variable + 1
    uint32_t generation;
    struct rb_memory_name *name; // of variable i; NULL when there are too many
    uint64_t name_room;
};

// Called for each variable of an access.
typedef void rb_memory_fn(void *context, uint32_t variable);

void rb_memory_init(struct rb_memory *m);
void rb_memory_free(struct rb_memory *m);

// Notes an access in the first pass. Returns false when memory is out.
bool rb_memory_note(struct rb_memory *m, uint64_t address, uint64_t size, uint32_t thread, bool atomic);
// Ends the first pass.
bool rb_memory_settle(struct rb_memory *m);
// Reports the variables of an access in the second pass, in the order of the merged trace. A range that was
// not noted has none.
bool rb_memory_touch(struct rb_memory *m, uint64_t address, uint64_t size, uint32_t thread, bool atomic,
                     uint32_t generation, rb_memory_fn *emit, void *context);
// Returns true if an atomic access to the range touches a variable.
bool rb_memory_mixed(struct rb_memory *m, uint64_t address, uint64_t size);
void rb_memory_forget(struct rb_memory *m, uint64_t from, uint64_t bytes);

#endif
