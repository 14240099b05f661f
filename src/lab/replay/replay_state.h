// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The state of one replay, shared by the whole-trace pass (replay.c), the handling of events
// (replay_events.c) and RPT's windows (rpt_windows.c). Private to lab/.
#ifndef RB_LAB_REPLAY_REPLAY_STATE_H
#define RB_LAB_REPLAY_REPLAY_STATE_H

#include "engine/access_history.h"
#include "lab/replay/hash_tables.h"
#include "lab/replay/read_ahead.h"
#include "lab/replay/replay.h"
#include "trace/lock_check.h"

// A synchronisation object of the trace. One cache line.
struct rb_replay_object {
    struct rb_sync main;
    struct rb_lock_state held;
    struct rb_sync *readers; // read-unlocks since the last write-unlock; only write-locks acquire it
    bool unread;             // a read-unlock came after the last write-lock
    bool loose;              // released without discipline at least once: see rb_engine_ops.release
};
_Static_assert(sizeof(struct rb_replay_object) == 64, "one cache line");

// An array with one item for each number that the window has named so far.
struct rb_dense {
    struct rb_id_map ids;
    void *items;
    uint32_t room, used;
};

struct rb_state {
    struct rb_reader *reader;
    const struct rb_replay_options *options;
    struct rb_result *result;
    struct rb_error *error;

    struct rb_engine engine;
    struct rb_arena arena; // engine's clocks and lists, and the arrays below
    struct rb_sampler sampler;
    uint64_t gap; // accesses to pass over before the next one taken (gap samplers)

    struct rb_thread *threads;   // by thread number; started at the thread's first event
    struct rb_sync *thread_sync; // fork and join edges, by thread number
    struct rb_replay_object *objects;
    struct rb_cell *cells;
    uint32_t *touched; // threads that have started
    uint32_t touched_count;
    uint64_t limit[RB_OPS]; // limit on the target of each kind of event; 0: no such kind
    uint32_t thread_limit, location_limit;
    uint64_t acquires, acquires_skipped, releases, sampled; // copied to the result

    // Windows: numbers of the trace are mapped to numbers in `objects` and `cells`, which then grow with
    // the window.
    bool windowed;
    struct rb_dense window_objects, window_cells;
    bool failed;
};

int rb_state_open(struct rb_state *s);
void rb_state_close(struct rb_state *s);

// Feeds the records of a page that are in `classes`. Returns 0, or a negative errno with the state's error.
int rb_state_feed(struct rb_state *s, const struct rb_page *page, const struct rb_classes *classes);

// Restores the state before the first event. The cost is proportional to the part that was touched.
void rb_state_reset(struct rb_state *s);

// Adds the threads' counters to the result and forgets them.
void rb_state_collect(struct rb_state *s);

// Applies an event that is neither an access nor of a mutex.
int rb_state_event(struct rb_state *s, const struct rb_event *e);
// Handles broken lock discipline: counts it under --lenient, else returns an error that names the place.
int rb_state_misuse(struct rb_state *s, uint64_t index, enum rb_lock_verdict verdict);

struct rb_thread *rb_state_start_thread(struct rb_state *s, uint32_t id);
struct rb_replay_object *rb_state_new_object(struct rb_state *s, uint64_t id);
struct rb_cell *rb_state_new_cell(struct rb_state *s, uint64_t id);

RB_INLINE struct rb_thread *rb_state_thread(struct rb_state *s, uint32_t id)
{
    struct rb_thread *t = &s->threads[id];

    return RB_LIKELY(t->clock != NULL) ? t : rb_state_start_thread(s, id);
}

RB_INLINE struct rb_replay_object *rb_state_object(struct rb_state *s, uint64_t id)
{
    return RB_LIKELY(!s->windowed) ? &s->objects[id] : rb_state_new_object(s, id);
}

// Counts a race and writes its line if requested.
void rb_state_warn(struct rb_state *s, const struct rb_event *e, uint64_t index, const struct rb_partner *p);

// Runs RPT's windows, one after the other, through rb_state_feed.
int rb_windows_run(struct rb_state *s);

// ---- predictive engines --------------------------------------------------------------------------------

// Runs the whole trace through an engine of predict/.
int rb_replay_predict(struct rb_state *s);

// Facts about a trace that the predictive engines need before its first event: the objects that keep the
// order of all their events (docs/explanation/reordering.md, R5, and locks used without discipline), and the last use
// of each lock by each thread.
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
