// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// For test_rmw.c: the library of rmw_cases.S, and the runtime as far as hooks need it.
#ifndef TESTS_UNIT_RMW_LIBRARY_H
#define TESTS_UNIT_RMW_LIBRARY_H

#include "inproc/modules.h"
#include "run/core/upcalls.h"
#include "run/unseen/rmw.h"
#include "run/unseen/rmw_modules.h"

extern uint64_t lost_edges, traps; // counted by the runtime's functions

// The layout of rmw_cases.S.
struct machine {
    uint64_t reg[16], flags, red[16], above[8];
    unsigned char vector[16][32];
    unsigned char rest[1024 - 328 - 512];
};
_Static_assert(sizeof(struct machine) == 1024 && offsetof(struct machine, vector) == 328, "as rmw_cases.S");

struct rmw_case {
    void (*run)(void), (*address)(void);
    const char *name;
    int32_t bit, scale;
};

struct library {
    void *handle;
    struct machine *in, *out;
    unsigned char *memory;
    uintptr_t *address;
    uint64_t *hits;
    const struct rmw_case *first, *end;
    void (*increment)(uint32_t *word);
    void (*decrement)(uint32_t *word);
    void (*trapped)(uint32_t *word, uint32_t times);
    uint64_t (*xadd)(void);
    struct rb_module module;
    struct rb_rmw_header *image;
    struct rb_rmw_table table;
};

void open_library(struct library *l, const char *path);
void close_library(struct library *l);
// Copies the library's code, to compare it later.
unsigned char *copy_code(const struct library *l, size_t *bytes);
bool is_code(const struct library *l, const unsigned char *copy, size_t bytes);
// Returns the protection of the page: 4 to read, 2 to write, 1 to execute.
int protection_of(const void *at);

#endif
