// Facts about a trace that the predictive engines need before its first event: the objects that keep the
// order of all their events (docs/reordering.md, R5, and locks used without discipline), and the last use
// of each lock by each thread. Tool side.
#ifndef RB_LAB_REPLAY_PREDICT_SURVEY_H
#define RB_LAB_REPLAY_PREDICT_SURVEY_H

#include "base/arena.h"
#include "trace/reader.h"

struct rb_survey {
    uint64_t *hard; // as in lab/predict/predict.h; NULL: no object is hard
    struct rb_last_use {
        uint64_t key; // lock and thread; 0: empty
        uint64_t event;
    } * uses; // by hash
    uint64_t capacity, count;
};

struct rb_survey_wants {
    bool lenient;  // locks may be misused
    bool last_use; // rb_survey_last_use will be called
};

// Reads the trace, unless its header proves that there are no such facts. Takes memory from the arena.
// Returns 0, or a negative errno with `e`.
int rb_survey_make(struct rb_survey *, const struct rb_reader *, struct rb_survey_wants, struct rb_arena *,
                   struct rb_error *e);
// Implements last_use of lab/predict/predict.h.
uint64_t rb_survey_last_use(const void *survey, uint64_t lock, uint32_t thread);

#endif
