// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Errors of library code: one line with the place and the expected input. The code that finds the problem
// fills it in, and the command prints it once. Tool side only.
#ifndef RB_BASE_ERROR_H
#define RB_BASE_ERROR_H

#include "base/types.h"

enum rb_fault {
    RB_FAULT_NONE,
    RB_FAULT_INPUT,   // the user's file or option: exit status 2
    RB_FAULT_INTERNAL // ours, or the system's: exit status 1
};

struct rb_error {
    enum rb_fault fault;
    char text[768];
};

// Both fill `e` and return a negative errno, for `return`. A later failure does not overwrite the first.
int rb_bad_input(struct rb_error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
int rb_internal(struct rb_error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
