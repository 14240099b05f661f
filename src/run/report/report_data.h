// A report as a program may ask about it: __tsan_on_report, and the __tsan_get_report_* functions, which are
// for use inside it.
#ifndef RB_RUN_REPORT_REPORT_DATA_H
#define RB_RUN_REPORT_REPORT_DATA_H

#include "run/core/rt.h"

struct rb_report_access {
    uintptr_t address;
    size_t size;
    uint32_t thread;
    rb_stack stack;
    bool write, atomic;
};

struct rb_report_view {
    struct rb_report_access access[2]; // the later one first
};

// Tells the program, if it wants to know. No lock is held; the program's function runs outside the guard, and
// may itself race.
RB_HIDDEN void rb_report_hook(struct rb_self *me, const struct rb_report_view *view);
// Returns true if it does: then a race is told after what came of its report is known.
RB_HIDDEN bool rb_report_hook_is_set(void);

// The program has asked to be called before it is ended for a race.
extern RB_HIDDEN void (*rb_death_callback)(void);

#endif
