// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cause of a race: one mistake may make many races. x264 copies a struct of 22 KB that another thread
// writes: one missing wait, and a race for each function that writes a member. A report shows one race of
// each cause, and counts and names the others.
//
// Rule: two races have one cause if they are on the same data, and in the same two functions.
//   data       the global variable; for blocks of the heap, the stack of their allocation
//   function   of the innermost frame that owns the code: functions inlined into it are skipped
//   A copy or fill of a range (more than RB_CAUSE_RANGE bytes) stands alone: the function on its other side
//   does not matter.
// Other data (a stack, thread-local, unknown) and frames without names are told apart by instruction.
//
// The result is the same in every run of a build, as the id is. Tool side.
#ifndef RB_REPORT_CAUSE_H
#define RB_REPORT_CAUSE_H

#include "report/race_merge.h"

#define RB_CAUSE_RANGE 64 // bytes; vector instructions have at most as many

// Writes the cause of a symbolized record.
void rb_race_cause(const json_t *record, char cause[RB_ID_SIZE]);

struct rb_group {
    const struct rb_race *shown;   // the first that is new, else the first
    const struct rb_race **others; // in the order of the report
    size_t count;                  // of them
    json_int_t seen;               // records of all
};

struct rb_groups {
    struct rb_group *group; // in the order of their first races
    size_t count;
    const struct rb_race **races; // the array that `others` point into
};

// Groups the races by cause; with `apart` each is a group of its own. Candidates, races of partial
// evidence and others are never in one group.
int rb_groups_make(struct rb_groups *g, const struct rb_race_list *races, bool apart, struct rb_error *e);
void rb_groups_free(struct rb_groups *g);

// Returns "write in add at counter.h:7, read in report at report.cc:44"; for free(), NULL if out of memory.
char *rb_words_pair(const json_t *record);

#endif
