// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Suppressions in ThreadSanitizer's syntax, so that a project's file for it works here unchanged:
//
//     # a comment
//     race:ThirdParty::*Cache        a function, file or module of either stack, or the global's name
//     race_top:fast_counter_add      the same for the innermost frames alone
//     called_from_lib:libfoo.so      a module of either stack
//
// A pattern may match anywhere in the name; ^ and $ tie it to the beginning and the end, * stands for
// anything. thread, mutex, signal and deadlock are valid types that match no data race. Tool side.
#ifndef RB_REPORT_SUPPRESS_H
#define RB_REPORT_SUPPRESS_H

#include "report/race_record.h"

enum rb_suppress_type { RB_SUPPRESS_RACE, RB_SUPPRESS_RACE_TOP, RB_SUPPRESS_LIBRARY, RB_SUPPRESS_OTHER };

struct rb_suppression {
    enum rb_suppress_type type;
    char *pattern;
};

struct rb_suppressions {
    struct rb_suppression *list;
    size_t count, room;
};

void rb_suppressions_free(struct rb_suppressions *s);
// Adds every good line. The first bad line is reported as "name:line: ..." and makes the result negative.
int rb_suppressions_parse(struct rb_suppressions *s, const char *text, const char *name, struct rb_error *e);
int rb_suppressions_read(struct rb_suppressions *s, const char *path, struct rb_error *e);

bool rb_suppress_matches(const char *pattern, const char *text);
// Returns the first suppression that matches the symbolized race, or NULL.
const struct rb_suppression *rb_suppressed(const struct rb_suppressions *s, const json_t *record);

#endif
