// ST (Efficient Timestamping, algorithm 2): vector clocks, but the local epoch grows only at the first
// release after a sampled access. Finds what SU and SO find; pays T entries at every synchronisation.
#include "engine/access_history.h"
#include "engine/vector_sync.h"

const struct rb_engine_ops rb_st = {
    .name = "st",
    .help = "sampling timestamps on whole vector clocks",
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
