// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lab/replay/replay_state.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FIRST_ROOM 1024u
#define HUGE_PAGE  ((size_t)1 << 21)

// Returns a limit below the machine's memory, so that exhaustion is an error message and no kill.
static size_t memory_limit(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);

    return pages > 0 && bytes > 0 ? (size_t)pages / 10 * 9 * (size_t)bytes : SIZE_MAX;
}

// Requests huge pages for cells, which are accessed at random: fewer page faults and TLB misses. A refusal
// is harmless.
static void ask_for_huge_pages(void *start, size_t bytes)
{
    const uintptr_t mask = (uintptr_t)HUGE_PAGE - 1, from = ((uintptr_t)start + mask) & ~mask;

    if (bytes >= 2 * HUGE_PAGE)
        madvise((void *)from, ((uintptr_t)start + bytes - from) & ~mask, MADV_HUGEPAGE);
}

static int open_tables(struct rb_state *s)
{
    const struct rb_reader *r = s->reader;
    const uint64_t threads = rb_reader_count(r, RBT_THREADS);

    for (int op = 0; op < RB_OPS; op++)
        if (rb_op_info[op].text)
            s->limit[op] = rb_reader_count(r, rb_table_of_space[rb_op_info[op].space]);
    s->thread_limit = (uint32_t)threads;
    s->location_limit = (uint32_t)rb_reader_count(r, RBT_LOCATIONS);
    s->threads = rb_arena_zalloc(&s->arena, threads * sizeof(*s->threads));
    s->thread_sync = rb_arena_zalloc(&s->arena, threads * sizeof(*s->thread_sync));
    s->touched = rb_arena_zalloc(&s->arena, threads * sizeof(*s->touched));
    if (!s->threads || !s->thread_sync || !s->touched)
        return rb_internal(s->error, "out of memory for %" PRIu64 " threads", threads);
    if (s->windowed || s->options->engine->predict)
        return 0;
    // Untouched entries take address space only.
    s->objects = rb_arena_zalloc(&s->arena, (rb_reader_count(r, RBT_LOCKS) + 1) * sizeof(*s->objects));
    s->cells = rb_arena_zalloc(&s->arena, (rb_reader_count(r, RBT_VARIABLES) + 1) * sizeof(*s->cells));
    if (s->cells)
        ask_for_huge_pages(s->cells, rb_reader_count(r, RBT_VARIABLES) * sizeof(*s->cells));
    if (!s->objects || !s->cells)
        return rb_internal(s->error,
                           "out of memory for the states of %" PRIu64 " variables and %" PRIu64 " locks",
                           rb_reader_count(r, RBT_VARIABLES), rb_reader_count(r, RBT_LOCKS));
    return 0;
}

int rb_state_open(struct rb_state *s)
{
    const struct rb_reader *r = s->reader;
    const struct rb_sampler_world world = {
        .threads = (uint32_t)rb_reader_count(r, RBT_THREADS),
        .functions = r->header.events_of[RB_ENTER] ? rb_reader_count(r, RBT_FUNCTIONS) : 0,
        .locations = rb_reader_count(r, RBT_LOCATIONS),
    };

    rb_arena_init(&s->arena, memory_limit());
    s->engine = (struct rb_engine){s->options->engine, &s->arena, world.threads, false};
    s->windowed = s->options->sampler.ops->windows;
    if (rb_sampler_start(&s->sampler, &s->options->sampler, &world, s->options->seed) < 0)
        return rb_internal(s->error,
                           "sampler %s: out of memory for %" PRIu32 " threads, %" PRIu64
                           " functions, %" PRIu64 " locations",
                           s->options->sampler.text, world.threads, world.functions, world.locations);
    return open_tables(s);
}

void rb_state_close(struct rb_state *s)
{
    rb_sampler_stop(&s->sampler);
    rb_id_map_free(&s->window_objects.ids);
    rb_id_map_free(&s->window_cells.ids);
    rb_arena_destroy(&s->arena);
}

struct rb_thread *rb_state_start_thread(struct rb_state *s, uint32_t id)
{
    struct rb_thread *t = &s->threads[id];

    t->slot = id;
    if (s->engine.ops->thread_start(&s->engine, t) < 0)
        return NULL;
    s->touched[s->touched_count++] = id;
    return t;
}

// Returns the item of `id`; a new one is zero. NULL when memory is out.
static void *item_of(struct rb_state *s, struct rb_dense *d, uint64_t id, size_t each)
{
    const uint32_t i = rb_id_map_get(&d->ids, id);

    if (i == UINT32_MAX)
        return NULL;
    if (i >= d->room) {
        const uint32_t room = d->room ? 2 * d->room : FIRST_ROOM;
        void *bigger = rb_arena_zalloc(&s->arena, room * each);
        if (!bigger)
            return NULL;
        if (d->room)
            memcpy(bigger, d->items, d->room * each);
        rb_arena_free(&s->arena, d->items, d->room * each);
        d->items = bigger;
        d->room = room;
    }
    if (i >= d->used)
        d->used = i + 1;
    return (char *)d->items + i * each;
}

struct rb_replay_object *rb_state_new_object(struct rb_state *s, uint64_t id)
{
    return item_of(s, &s->window_objects, id, sizeof(struct rb_replay_object));
}

struct rb_cell *rb_state_new_cell(struct rb_state *s, uint64_t id)
{
    return item_of(s, &s->window_cells, id, sizeof(struct rb_cell));
}

void rb_state_reset(struct rb_state *s)
{
    const struct rb_engine_ops *ops = s->engine.ops;

    rb_state_collect(s);
    struct rb_cell *cells = s->window_cells.items;
    struct rb_replay_object *objects = s->window_objects.items;

    for (uint32_t i = 0; i < s->window_cells.used; i++)
        ops->cell_clear(&s->engine, &cells[i]);
    for (uint32_t i = 0; i < s->window_objects.used; i++) {
        struct rb_replay_object *o = &objects[i];
        ops->sync_clear(&s->engine, &o->main);
        if (o->readers) {
            ops->sync_clear(&s->engine, o->readers);
            rb_arena_free(&s->arena, o->readers, sizeof(*o->readers));
        }
        *o = (struct rb_replay_object){.readers = NULL};
    }
    for (uint32_t i = 0; i < s->touched_count; i++) {
        const uint32_t id = s->touched[i];
        ops->sync_clear(&s->engine, &s->thread_sync[id]);
        ops->thread_stop(&s->engine, &s->threads[id]);
        s->threads[id] = (struct rb_thread){.slot = 0};
    }
    s->window_cells.used = s->window_objects.used = s->touched_count = 0;
    rb_id_map_clear(&s->window_cells.ids);
    rb_id_map_clear(&s->window_objects.ids);
}

void rb_state_collect(struct rb_state *s)
{
    struct rb_result *to = s->result;

    to->acquires = s->acquires;
    to->acquires_skipped = s->acquires_skipped;
    to->releases = s->releases;
    to->sampled = s->sampled;

    for (uint32_t i = 0; i < s->touched_count; i++) {
        struct rb_engine_counters *c = &s->threads[s->touched[i]].count;
        to->releases_processed += c->releases_processed;
        to->deep_copies += c->deep_copies;
        to->entries_traversed += c->entries_traversed;
        to->entries_total += c->entries_total;
        to->starved += c->starved;
        *c = (struct rb_engine_counters){0};
    }
}
