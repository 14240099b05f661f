// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Walks the table of parts (parts.def), and holds the few steps of its rows that belong to no room below.
#include "run/life/parts.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "base/append.h"
#include "inproc/unwind.h"
#include "run/access/access.h"
#include "run/access/history.h"
#include "run/core/footprint.h"
#include "run/core/ticker.h"
#include "run/core/upcalls.h"
#include "run/intercept/heap.h"
#include "run/intercept/lifecycle.h"
#include "run/openmp/omp.h"
#include "run/record/record.h"
#include "run/report/race.h"
#include "run/sampler/sampling.h"
#include "run/sites/sites.h"
#include "run/sync/objects.h"
#include "run/sync/thread.h"
#include "run/unseen/unseen.h"
#include "run/watchpoint/watchpoints.h"

#define KEPT_BYTES ((size_t)64 << 20)

static size_t share_of_arena(size_t memory)
{
    return memory / 16 * 5;
}

static int make_process(size_t memory)
{
    rb_process.ops = rb_engine_find(rb_options.engine);
    if (!rb_process.ops)
        rb_process.ops = &rb_so;
    rb_process.stack_depth = (uint32_t)(rb_options.stack_depth < 64 ? rb_options.stack_depth : 64);
    rb_process.generation = 2;
    rb_arena_init(&rb_process.arena, share_of_arena(memory));
    rb_arena_init(&rb_host.kept, KEPT_BYTES);
    rb_footprint_table(rb_unwind_slots, sizeof(rb_unwind_slots));
    return 0;
}

static void renew_process(void)
{
    rb_arena_destroy(&rb_process.arena);
    rb_process.arena.limit = share_of_arena(rb_options.memory);
    rb_process.width = 0;
    rb_process.generation = (rb_process.generation | 1) + 1;
    rb_process.lost_edges = rb_process.races = rb_process.suppressed = 0;
}

static void print_stats(void)
{
    rb_stats_print();
    rb_stats_say_dropped();
}

// Starts the sampler, and chooses the shortcuts that it and the engine allow.
static int make_sampling(const struct rb_start *start)
{
    const int error = rb_sampling_init(start->sampler, start->seed);

    if (error)
        return error;
    rb_footprint_arena(&rb_sampling_process.arena);
    rb_fences_on = rb_process.take_all;
    rb_process.quick = rb_process.ops->knows && !rb_process.windows && !rb_options.record[0];
    if (rb_options.watch && !rb_process.by_cost && !rb_process.collides)
        rb_watchpoints_refused("only with sampler=adaptive");
    return 0;
}

// Counts the accesses that this thread has passed over, and stops the ticker.
static void finish_sampling(void)
{
    struct rb_self *me = rb_self_tls;

    if (me && !me->busy) {
        me->busy = 1;
        rb_sampling_settle(me);
        me->busy = 0;
    }
    rb_ticker_stop();
}

static int make_copy_mark(void)
{
    rb_watch_copies();
    return 0;
}

static int make_handlers(void)
{
    rb_watch_fork();
    rb_watch_exit();
    rb_watch_quick_exit();
    return 0;
}

// Makes the JSON file: a run without a race leaves an empty one, which shows that there was a run.
static int make_json_file(void)
{
    const int fd = rb_options.report_json[0] ? rb_append_open(rb_options.report_json) : -1;

    if (fd >= 0)
        syscall(SYS_close, fd);
    return 0;
}

// Begins the recording. Without one the program runs on: a line says why.
static int make_unseen(const struct rb_start *start)
{
    rb_process.unseen = rb_options.unseen == RB_UNSEEN_ORDER &&
                        (start->sampler->ops != &rb_sample_none || rb_options.record[0]);
    rb_unseen_init();
    return 0;
}

static int make_recording(void)
{
    if (rb_options.record[0])
        rb_record_start(rb_options.record);
    return 0;
}

// ---- the table -----------------------------------------------------------------------------------------

#define RB_AFTER(part, earlier, reason)
#define RB_PART_ALWAYS RB_PART
#define RB_PART(name, make, restart, finish)              \
    static int start_##name(const struct rb_start *start) \
    {                                                     \
        (void)start;                                      \
        return make;                                      \
    }                                                     \
    static void restart_##name(void)                      \
    {                                                     \
        (void)(restart);                                  \
    }                                                     \
    static void finish_##name##_part(void)                \
    {                                                     \
        (void)(finish);                                   \
    }
#include "run/life/parts.def"
#undef RB_PART
#undef RB_PART_ALWAYS

static const struct part {
    int (*start)(const struct rb_start *start);
    void (*restart)(void);
    void (*finish)(void);
    bool always; // restarts while the runtime is off, too
} parts[] = {
#define RB_PART(name, make, restart, finish) {start_##name, restart_##name, finish_##name##_part, false},
#define RB_PART_ALWAYS(name, make, restart, finish) \
    {start_##name, restart_##name, finish_##name##_part, true},
#include "run/life/parts.def"
#undef RB_PART
#undef RB_PART_ALWAYS
};

enum place_of_part {
#define RB_PART_ALWAYS                       RB_PART
#define RB_PART(name, make, restart, finish) PLACE_##name,
#include "run/life/parts.def"
#undef RB_PART
#undef RB_AFTER
};

#define RB_PART(name, make, restart, finish)
#define RB_AFTER(part, earlier, reason) _Static_assert(PLACE_##part > PLACE_##earlier, reason);
#include "run/life/parts.def"
#undef RB_PART
#undef RB_PART_ALWAYS
#undef RB_AFTER

bool rb_parts_start(const struct rb_start *start)
{
    for (unsigned i = 0; i < RB_LENGTH(parts); i++)
        if (parts[i].start(start))
            return false;
    return true;
}

void rb_parts_restart(bool on)
{
    for (unsigned i = 0; i < RB_LENGTH(parts); i++)
        if (on || parts[i].always)
            parts[i].restart();
}

void rb_parts_finish(void)
{
    for (unsigned i = RB_LENGTH(parts); i-- > 0;)
        parts[i].finish();
}
