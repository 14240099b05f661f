// `record=FILE`: every synchronisation and the accesses the sampler takes go into a trace. Called with the
// object's lock held (sync) or inside the guard (accesses); does nothing, in one test, when nothing is recorded.
#ifndef RB_RT_RECORD_H
#define RB_RT_RECORD_H

#include "rt/rt.h"
#include "trace/format.h"

extern RB_HIDDEN bool rb_recording;

struct rb_touch;
RB_HIDDEN int rb_record_start(const char *path);
RB_HIDDEN void rb_record_finish(void);
RB_HIDDEN void rb_record_stop_after_fork(void);
RB_HIDDEN void rb_record_access(struct rb_self *me, const struct rb_touch *t, uintptr_t pc);
RB_HIDDEN void rb_record_event(struct rb_self *me, enum rb_op op, uint64_t target, uintptr_t pc);

RB_INLINE void rb_record_sync(struct rb_self *me, enum rb_op op, uint64_t target)
{
    if (RB_UNLIKELY(rb_recording))
        rb_record_event(me, op, target, 0);
}

#endif
