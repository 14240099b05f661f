// The cause of a race: what races have in common that one mistake makes. x264 copies a struct of 22 KB that
// another thread writes: one missing wait, and a race for each function that writes a member.
//
// Rule: two races have one cause if they are on the same data, and in the same two functions.
//   data       the global variable; for blocks of the heap, where they were allocated
//   function   of the innermost frame, the one that the code belongs to where others are inlined into it
//   A copy or fill of a range (more than RB_CAUSE_RANGE bytes) stands alone: the function on its other side
//   does not matter.
// Data that is neither (a stack, thread-local, unknown), and frames without names, are told apart by
// instruction instead.
//
// The result is the same in every run of a build, like the id. Tool side.
#ifndef RB_REPORT_CAUSE_H
#define RB_REPORT_CAUSE_H

#include "report/race_record.h"

#define RB_CAUSE_RANGE 64 // bytes; vector instructions have at most as many

// Of a symbolized record.
void rb_race_cause(const json_t *record, char cause[RB_ID_SIZE]);

#endif
