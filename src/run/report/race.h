// From a race found to a report: once a pair of code places, whatever threads and addresses; the record is
// handed to the reporter (reporter.h), which symbolizes outside this process. See docs/reports.md.
#ifndef RB_RUN_REPORT_RACE_H
#define RB_RUN_REPORT_RACE_H

#include "run/core/upcalls.h"
#include "run/report/reporter.h"

// Returns true if a race was reported, or will be.
RB_HIDDEN bool rb_races_are_found(void);
// Waits for the reporter, at the end of the process: later races are not reported. rb_process.races and .suppressed are
// right afterwards.
RB_HIDDEN void rb_races_finish(void);

RB_HIDDEN int rb_races_init(void);
RB_HIDDEN void rb_races_reset_after_fork(void);

#endif
