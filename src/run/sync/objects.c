// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of synchronisation objects (objects.h): search, insertion, removal, moves.
#include "run/sync/objects.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/pages.h"
#include "run/core/footprint.h"
#include "run/record/record.h"

#define CHAINS     (1u << 15)
#define SHARDS     256u
#define LINE_SHIFT 6
#define PAGE_SHIFT 12
#define PAGES      (1u << 14)

struct shard {
    rb_spin lock;
    uint32_t gone; // objects that have left it
} __attribute__((aligned(64)));

static struct rb_object **chains;
static uint32_t *pages; // objects of each page (hashed): 0 if none can be in [from, to)
static struct shard shards[SHARDS];
static rb_spin free_lock;
static rb_spin going; // held while all objects are removed
static struct rb_object *free_objects;
static uint64_t objects;

static uint32_t chain_of(uintptr_t address)
{
    const uint64_t x = (address >> LINE_SHIFT) * RB_GOLDEN;

    return (uint32_t)(x >> 40) & (CHAINS - 1);
}

static uint32_t *page_of(uintptr_t address)
{
    const uint64_t x = (address >> PAGE_SHIFT) * RB_GOLDEN;

    return &pages[(x >> 44) & (PAGES - 1)];
}

int rb_objects_init(void)
{
    const size_t bytes = CHAINS * sizeof(*chains) + PAGES * sizeof(*pages);
    char *map = rb_pages_map(bytes);

    if (!map)
        return -ENOMEM;
    chains = (struct rb_object **)(void *)map;
    pages = (uint32_t *)(void *)(map + CHAINS * sizeof(*chains));
    rb_footprint_map(map, bytes);
    rb_footprint_table(map, bytes);
    return 0;
}

// Empties the table, while the process has one thread; the arena has been emptied already.
void rb_objects_reset_after_fork(void)
{
    if (!chains)
        return;
    madvise(chains, CHAINS * sizeof(*chains) + PAGES * sizeof(*pages), MADV_DONTNEED);
    for (unsigned i = 0; i < SHARDS; i++)
        shards[i].lock = 0;
    free_lock = 0;
    going = 0;
    free_objects = NULL;
    objects = 0;
}

uint64_t rb_objects_count(void)
{
    return rb_load_relaxed(&objects);
}

static struct rb_object *find_in_chain(uint32_t chain, uintptr_t address)
{
    struct rb_object *o = rb_load_acquire(&chains[chain]);

    // An object that leaves and comes back elsewhere misleads a reader, even into a circle: hence the
    // bound.
    for (unsigned steps = 0; o && steps < 100000; steps++) {
        if (rb_load_relaxed(&o->address) == address)
            return o;
        o = rb_load_acquire(&o->next);
    }
    return NULL;
}

// Searches with the shard's lock held, when chains do not change.
static struct rb_object *find_locked(uint32_t chain, uintptr_t address)
{
    struct rb_object *o = chains[chain];

    while (o && o->address != address)
        o = o->next;
    return o;
}

bool rb_object_absent(uintptr_t address)
{
    const uint32_t chain = chain_of(address);
    const struct shard *shard = &shards[chain % SHARDS];
    const uint32_t gone = rb_load_acquire(&shard->gone);

    return !find_in_chain(chain, address) && rb_load_acquire(&shard->gone) == gone;
}

struct rb_object *rb_object_find(struct rb_self *me, uintptr_t address)
{
    const uint32_t chain = chain_of(address);
    struct shard *shard = &shards[chain % SHARDS];

    (void)me;
    const uint32_t gone = rb_load_acquire(&shard->gone);
    struct rb_object *o = find_in_chain(chain, address);
    if (o) {
        rb_spin_lock(&o->lock);
        if (RB_LIKELY(o->address == address))
            return o;
        rb_spin_unlock(&o->lock);
    } else if (RB_LIKELY(rb_load_acquire(&shard->gone) == gone)) {
        return NULL;
    }
    rb_spin_lock(&shard->lock);
    o = find_locked(chain, address);
    if (o)
        rb_spin_lock(&o->lock);
    rb_spin_unlock(&shard->lock);
    return o;
}

static struct rb_object *take_free(void)
{
    rb_spin_lock(&free_lock);
    struct rb_object *o = free_objects;
    if (o)
        free_objects = o->next;
    rb_spin_unlock(&free_lock);
    if (!o)
        o = rb_arena_zalloc(&rb_process.arena, sizeof(*o));
    return o;
}

// Takes the object out of its chain; the shard's lock is held, the object's is not.
static void unlink_object(struct rb_self *me, struct shard *shard, struct rb_object **link)
{
    struct rb_object *o = *link;

    rb_spin_lock(&o->lock);
    rb_object_loses(o);
    rb_record_gone(me, o->address);
    rb_fetch_sub_relaxed(page_of(o->address), 1);
    rb_store_release(link, o->next);
    rb_store_release(&shard->gone, shard->gone + 1);
    rb_store_relaxed(&o->address, 0);
    rb_process.ops->sync_clear(&me->engine, &o->main);
    rb_process.ops->sync_clear(&me->engine, &o->readers);
    o->owner = o->arrived = o->parties = 0;
    o->read_locked = o->joins = false;
    rb_spin_unlock(&o->lock);
    rb_spin_lock(&free_lock);
    o->next = free_objects;
    free_objects = o;
    rb_spin_unlock(&free_lock);
    rb_fetch_sub_relaxed(&objects, 1);
}

// Removes all objects, and the history with them: memory is out. A thread may meanwhile release into an
// object that is still to go, and another acquire when it is gone: accesses of that time must not be
// remembered. Threads that come meanwhile lose an edge, and find room soon.
static RB_NOINLINE void remove_all(struct rb_self *me)
{
    rb_lost_edge(me);
    if (!rb_spin_try(&going))
        return;
    rb_fetch_add_acq_rel(&rb_process.generation, 1);
    for (uint32_t c = 0; c < CHAINS; c++) {
        if (!rb_load_relaxed(&chains[c]))
            continue;
        struct shard *shard = &shards[c % SHARDS];
        rb_spin_lock(&shard->lock);
        while (chains[c])
            unlink_object(me, shard, &chains[c]);
        rb_spin_unlock(&shard->lock);
    }
    rb_fetch_add_acq_rel(&rb_process.generation, 1);
    rb_spin_unlock(&going);
}

struct rb_object *rb_object_get(struct rb_self *me, uintptr_t address)
{
    const uint32_t chain = chain_of(address);
    struct shard *shard = &shards[chain % SHARDS];
    struct rb_object *o = find_in_chain(chain, address);

    if (o) {
        rb_spin_lock(&o->lock);
        if (RB_LIKELY(o->address == address))
            return o;
        rb_spin_unlock(&o->lock);
    }
    struct rb_object *fresh = take_free();
    if (!fresh) {
        remove_all(me);
        return NULL;
    }
    rb_spin_lock(&shard->lock);
    o = find_locked(chain, address);
    if (o) { // another thread made it meanwhile
        rb_spin_lock(&o->lock);
        rb_spin_unlock(&shard->lock);
        rb_spin_lock(&free_lock);
        fresh->next = free_objects;
        free_objects = fresh;
        rb_spin_unlock(&free_lock);
        return o;
    }
    rb_spin_lock(&fresh->lock);
    rb_store_relaxed(&fresh->address, address);
    fresh->owner = RB_NO_SLOT;
    fresh->next = chains[chain];
    rb_store_release(&chains[chain], fresh);
    rb_fetch_add_relaxed(page_of(address), 1);
    rb_spin_unlock(&shard->lock);
    rb_fetch_add_relaxed(&objects, 1);
    return fresh;
}

struct rb_object *rb_object_make(struct rb_self *me, uintptr_t address)
{
    struct rb_object *o = rb_object_get(me, address);

    if (o)
        rb_object_changes(o);
    return o;
}

static void forget_chain(struct rb_self *me, uint32_t chain, uintptr_t from, uintptr_t end)
{
    struct shard *shard = &shards[chain % SHARDS];
    struct rb_object **link = &chains[chain];

    if (!rb_load_relaxed(link))
        return;
    rb_spin_lock(&shard->lock);
    while (*link) {
        if ((*link)->address >= from && (*link)->address < end)
            unlink_object(me, shard, link);
        else
            link = &(*link)->next;
    }
    rb_spin_unlock(&shard->lock);
}

void rb_objects_forget(struct rb_self *me, uintptr_t from, size_t bytes)
{
    const uintptr_t end = from + bytes;
    const uintptr_t page = (uintptr_t)1 << PAGE_SHIFT, line = (uintptr_t)1 << LINE_SHIFT;

    if (!bytes || end < from)
        return;
    if (bytes >> PAGE_SHIFT > CHAINS) { // chain by chain
        for (uint32_t chain = 0; chain < CHAINS; chain++)
            forget_chain(me, chain, from, end);
        return;
    }
    for (uintptr_t at = from; at < end && at >= from; at = (at | (page - 1)) + 1) {
        if (rb_load_relaxed(page_of(at)) == 0)
            continue;
        const uintptr_t page_end = (at | (page - 1)) + 1, stop = page_end && page_end < end ? page_end : end;
        for (uintptr_t l = at; l < stop; l = (l | (line - 1)) + 1)
            forget_chain(me, chain_of(l), at, stop);
    }
}

// Moves an object with its clocks; no thread is using either place.
static void move_object(struct rb_self *me, uintptr_t from, uintptr_t to)
{
    struct rb_object *old = rb_object_find(me, from), kept;

    rb_objects_forget(me, to, 1);
    if (!old)
        return;
    kept = *old;
    old->main = old->readers = (struct rb_sync){0};
    rb_object_unlock(old);
    rb_objects_forget(me, from, 1);
    struct rb_object *new = rb_object_make(me, to);
    if (!new) { // all objects are gone, and the history as well
        rb_process.ops->sync_clear(&me->engine, &kept.main);
        rb_process.ops->sync_clear(&me->engine, &kept.readers);
        return;
    }
    new->owner = kept.owner;
    new->held_in = kept.held_in;
    new->arrived = kept.arrived;
    new->parties = kept.parties;
    new->read_locked = kept.read_locked;
    new->main = kept.main;
    new->readers = kept.readers;
    rb_object_unlock(new);
}

static bool has_no_object(uintptr_t address)
{
    return !rb_load_relaxed(&chains[chain_of(address)]);
}

// Moves objects byte by byte: an object may be at any byte.
void rb_objects_move(struct rb_self *me, uintptr_t from, uintptr_t to, size_t bytes)
{
    for (size_t i = 0; i < bytes && from != to; i++) {
        const size_t at = to > from ? bytes - 1 - i : i;
        if (!has_no_object(from + at) || !has_no_object(to + at))
            move_object(me, from + at, to + at);
    }
}
