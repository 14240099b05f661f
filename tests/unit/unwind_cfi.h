// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests of the interpreter of call frame information, run by test_unwind.c; and what they know of this
// process.
#ifndef RB_TESTS_UNWIND_CFI_H
#define RB_TESTS_UNWIND_CFI_H

#include "base/rng.h"

// A loaded object that has a header of call frame information with the usual search table.
struct object {
    char path[512];
    uintptr_t bias;
    const uint8_t *header, *segment, *segment_end; // the loaded segment that holds the header
    uint32_t count;
};

#define MOST_OBJECTS 32
extern struct object objects[MOST_OBJECTS];
extern unsigned object_count;

void find_objects(void);
// An entry of a random object: where it is and the code that it describes.
struct entry {
    const struct object *object;
    const uint8_t *at;
    uintptr_t begin, size;
};
struct entry random_entry(struct rb_rng *rng);

void cfi_as_readelf_says(void **state);
void cfi_fuzz_entries(void **state);
void cfi_fuzz_headers(void **state);
void cfi_expressions(void **state);
void cfi_scan_finds_the_same(void **state);
void rule_round_trip(void **state);

#endif
