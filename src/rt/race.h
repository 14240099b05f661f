// From a race found to a report: once a pair of code places, whatever threads and addresses; the record is
// handed to the reporter (reporter.h), which symbolizes outside this process. See docs/reports.md.
#ifndef RB_RT_RACE_H
#define RB_RT_RACE_H

#include "rt/history.h"
#include "rt/reporter.h"

// Remembers a race the thread has just met. Cheap when the pair of places is known already. Reported by
// rb_races_report, which is called when no lock is held.
RB_HIDDEN void rb_race_found(struct rb_self *me, const struct rb_touch *now, uint64_t where,
                             const struct rb_hit *before);
RB_HIDDEN void rb_races_report_slow(struct rb_self *me);
RB_HIDDEN void rb_races_drop(struct rb_self *me); // and reports nothing

RB_INLINE void rb_races_report(struct rb_self *me)
{
    if (RB_UNLIKELY(me->found || rb_reporter_left))
        rb_races_report_slow(me);
}

// Waits until all races found are reported, and returns how many were.
RB_HIDDEN uint64_t rb_races_count(void);
// Returns true if a race was reported, or will be.
RB_HIDDEN bool rb_races_are_found(void);
// Ends the reporter if it is a child, before a wait that would see it. Inside the guard.
RB_HIDDEN void rb_races_pause(void);
// The same at the end of the process: later races are not reported. rb_process.races and .suppressed are
// right afterwards.
RB_HIDDEN void rb_races_finish(void);

extern RB_HIDDEN const char *rb_race_evidence; // how a race is known: docs/reports.md
RB_HIDDEN int rb_races_init(void);
RB_HIDDEN void rb_races_reset_after_fork(void);

#endif
