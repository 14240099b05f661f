// DJIT+ (Pozniansky and Schuster): vector clocks everywhere, a new local epoch at every release. The access
// history is the exact one, which is what DJIT+'s read and write vectors of each variable amount to.
#include "engine/access_history.h"
#include "engine/vector_sync.h"

static bool release(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    return rb_vector_release(engine, t, s, true);
}

static bool release_join(struct rb_engine *engine, struct rb_thread *t, struct rb_sync *s)
{
    return rb_vector_release_join(engine, t, s, true);
}

const struct rb_engine_ops rb_djit = {
    .name = "djit",
    .help = "DJIT+: whole vector clocks, every access exact",
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
