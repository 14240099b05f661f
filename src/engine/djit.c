// DJIT+ (Pozniansky and Schuster): vector clocks everywhere, a new local epoch at every release. The access
// history is the exact one, which is what DJIT+'s read and write vectors of each variable amount to.
#include "engine/access_history.h"
#include "engine/vector_sync.h"

const struct rb_engine_ops rb_djit = {
    .name = "djit",
    .help = "DJIT+: whole vector clocks, every access exact",
    .every_release = true,
    .thread_start = rb_vector_thread_start,
    .thread_stop = rb_vector_thread_stop,
    .acquire = rb_vector_acquire,
    .release = rb_vector_release,
    .release_store = rb_vector_release,
    .release_join = rb_vector_release_join,
    .sync_clear = rb_vector_sync_clear,
    .access = rb_history_access,
    .peek = rb_history_peek,
    .cell_clear = rb_history_clear,
};
