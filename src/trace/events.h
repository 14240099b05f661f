// A whole trace as an array, for work that goes back and forth in it: injection and its verifier. Everything
// is checked once while it is loaded: targets are in their tables, forks and joins name the threads they
// mean, so numbers may be used as indices without another test. Memory grows with the trace (24 bytes an
// event). Tool side.
#ifndef RB_TRACE_EVENTS_H
#define RB_TRACE_EVENTS_H

#include "trace/reader.h"

struct rb_events {
    struct rb_event *at;
    uint64_t count;
    uint64_t table[RBT_TABLES]; // entries of each
};

// Names are not loaded. At most UINT32_MAX - 16 events. 0 or a negative errno with `e`.
int rb_events_load(struct rb_reader *r, struct rb_events *t, struct rb_error *e);
void rb_events_free(struct rb_events *t);

#endif
