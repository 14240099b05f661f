// How library code says what went wrong: one line, with the place and what was expected, filled in where the
// problem is known and printed once by the command. Tool side only.
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

// Both fill `e` (a later failure does not overwrite the first) and return a negative errno, for `return`.
int rb_bad_input(struct rb_error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
int rb_internal(struct rb_error *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
