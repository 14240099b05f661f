// What the predictive engines need to know of a trace before its first event: which objects keep the order of
// all their events (docs/reordering.md, R5, and locks used without discipline), and when a thread has used a
// lock for the last time. Tool side.
#ifndef RB_LAB_REPLAY_PREDICT_SURVEY_H
#define RB_LAB_REPLAY_PREDICT_SURVEY_H

#include "base/arena.h"
#include "trace/reader.h"

struct rb_survey {
    uint64_t *hard; // as lab/predict/predict.h has it; NULL: no object is
    struct rb_last_use {
        uint64_t key; // lock and thread; 0: empty
        uint64_t event;
    } * uses; // by hash
    uint64_t capacity, count;
};

struct rb_survey_wants {
    bool lenient;  // locks may be misused
    bool last_use; // rb_survey_last_use will be asked
};

// Reads the trace, unless its header says that there is nothing to know. Memory from the arena. 0 or a
// negative errno with `e`.
int rb_survey_make(struct rb_survey *, const struct rb_reader *, struct rb_survey_wants, struct rb_arena *,
                   struct rb_error *e);
// As lab/predict/predict.h has it.
uint64_t rb_survey_last_use(const void *survey, uint64_t lock, uint32_t thread);

#endif
