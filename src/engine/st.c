// ST (Efficient Timestamping, algorithm 2): vector clocks, but the local epoch grows only at the first
// release after a sampled access. Finds what SU and SO find; pays T entries at every synchronisation.
#include "engine/access_history.h"
#include "engine/vector_sync.h"

static bool release(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    return rb_vector_release(engine, t, s, t->sampled);
}

static bool release_join(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    return rb_vector_release_join(engine, t, s, t->sampled);
}

const struct rb_engine_ops rb_st = {
    .name = "st",
    .help = "sampling timestamps on whole vector clocks",
    .thread_start = rb_vector_thread_start,
    .thread_stop = rb_vector_thread_stop,
    .acquire = rb_vector_acquire,
    .release = release,
    .release_store = release,
    .release_join = release_join,
    .sync_clear = rb_vector_sync_clear,
    .access = rb_history_access,
    .cell_clear = rb_history_clear,
};
