// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Rule (a): the end of a section comes before an access in a later section of the same lock that conflicts
// with an access in the first. For each lock and variable used together, the table has the H of the last
// such section. A section records the pairs it used, each once, so that its end costs no more than its
// uses.
//
// The rule does not apply to two sections that read-lock the lock, because they do not exclude each other.
// It applies to a read section and a write section.
#include <errno.h>
#include <string.h>

#include "lab/predict/wcp.h"

#define CHUNK     512u
#define FIRST     1024u
#define FEW       8u
#define HASH_LOCK RB_GOLDEN
#define HASH_VAR  UINT64_C(0xd6e8feb86659fd93)

// ---- table ---------------------------------------------------------------------------------------------

static uint64_t hash_pair(uint64_t lock, uint64_t variable)
{
    uint64_t x = (lock + 1) * HASH_LOCK ^ variable * HASH_VAR;

    x ^= x >> 32;
    x *= HASH_LOCK;
    return x ^ x >> 29;
}

static struct wcp_pair *pair_at(const struct wcp_table *t, uint32_t index)
{
    return &t->chunks[(index - 1) / CHUNK][(index - 1) % CHUNK];
}

static int grow_slots(struct wcp *p)
{
    struct wcp_table *t = &p->table;
    const uint64_t capacity = t->capacity ? 2 * t->capacity : FIRST;
    struct wcp_slot *bigger = rb_arena_zalloc(p->world.arena, capacity * sizeof(*bigger));

    if (!bigger)
        return -ENOMEM;
    for (uint32_t i = 1; i <= t->count; i++) {
        const struct wcp_pair *pair = pair_at(t, i);
        const uint64_t h = hash_pair(pair->lock, pair->variable);
        uint64_t at = h & (capacity - 1);
        while (bigger[at].index)
            at = (at + 1) & (capacity - 1);
        bigger[at] = (struct wcp_slot){(uint32_t)(h >> 32), i};
    }
    rb_arena_free(p->world.arena, t->slots, t->capacity * sizeof(*t->slots));
    t->slots = bigger;
    t->capacity = capacity;
    return 0;
}

static void *grow_array(struct rb_arena *a, void *old, uint32_t room, uint32_t more, size_t each)
{
    void *bigger = rb_arena_alloc(a, more * each);

    if (bigger && room) {
        memcpy(bigger, old, room * each);
        rb_arena_free(a, old, room * each);
    }
    return bigger;
}

// Makes a pair that is not in the table yet, without its place there.
static struct wcp_pair *new_pair(struct wcp *p, uint64_t lock, uint64_t variable)
{
    struct wcp_table *t = &p->table;
    const uint32_t chunk = t->count / CHUNK;

    if (t->count == UINT32_MAX - 1)
        return NULL;
    if (t->count % CHUNK == 0) {
        if (chunk == t->chunk_room) {
            const uint32_t more = chunk ? 2 * chunk : FEW;
            struct wcp_pair **chunks = grow_array(p->world.arena, t->chunks, chunk, more, sizeof(*chunks));
            if (!chunks)
                return NULL;
            t->chunks = chunks;
            t->chunk_room = more;
        }
        t->chunks[chunk] = rb_arena_zalloc(p->world.arena, CHUNK * sizeof(struct wcp_pair));
        if (!t->chunks[chunk])
            return NULL;
    }
    struct wcp_pair *pair = pair_at(t, ++t->count);
    pair->lock = lock;
    pair->variable = variable;
    return pair;
}

// Returns the pair, made if necessary; NULL when memory is out.
static struct wcp_pair *pair_of(struct wcp *p, uint64_t lock, uint64_t variable)
{
    struct wcp_table *t = &p->table;
    const uint64_t h = hash_pair(lock, variable);
    const uint32_t tag = (uint32_t)(h >> 32);

    if (RB_UNLIKELY(t->count + UINT64_C(1) > t->capacity / 2) && grow_slots(p) < 0)
        return NULL;
    uint64_t at = h & (t->capacity - 1);
    for (; t->slots[at].index; at = (at + 1) & (t->capacity - 1)) {
        struct wcp_pair *pair = pair_at(t, t->slots[at].index);
        if (t->slots[at].tag == tag && pair->lock == lock && pair->variable == variable)
            return pair;
    }
    struct wcp_pair *pair = new_pair(p, lock, variable);
    if (pair)
        t->slots[at] = (struct wcp_slot){tag, t->count};
    return pair;
}

static struct wcp_reader *reader_of(struct wcp *p, struct wcp_pair *pair, uint32_t thread)
{
    struct wcp_reader *r = pair->readers;

    while (r && r->thread != thread)
        r = r->next;
    if (r)
        return r;
    r = rb_arena_zalloc(p->world.arena, sizeof(*r));
    if (r) {
        r->thread = thread;
        r->next = pair->readers;
        pair->readers = r;
    }
    return r;
}

// ---- rule ----------------------------------------------------------------------------------------------

static int note_use(struct wcp *p, struct wcp_section *s, void *what)
{
    if (s->count == s->room) {
        const uint32_t more = s->room ? 2 * s->room : FEW;
        void **bigger = grow_array(p->world.arena, s->touched, s->room, more, sizeof(*bigger));
        if (!bigger)
            return -ENOMEM;
        s->touched = bigger;
        s->room = more;
    }
    s->touched[s->count++] = what;
    return 0;
}

// Learns, of the last two sections by different threads, the later one that is not the thread's own.
static void learn_other(struct wcp *p, struct wcp_thread *t, const struct rb_handover last[2])
{
    wcp_learn_p(p, t, &last[last[0].thread == t->base.slot]);
}

static void learn_readers(struct wcp *p, struct wcp_thread *t, const struct wcp_pair *pair, bool write)
{
    for (const struct wcp_reader *r = pair->readers; r; r = r->next) {
        wcp_learn_p(p, t, &r->wrote); // the thread's own release has no news
        if (write)
            wcp_learn_p(p, t, &r->read);
    }
}

static int section_access(struct wcp *p, struct wcp_thread *t, struct wcp_section *s, uint64_t variable,
                          bool write)
{
    const uint32_t how = write ? WCP_WROTE : WCP_READ;

    if (!s->last || s->last->variable != variable)
        s->last = pair_of(p, s->lock, variable);
    struct wcp_pair *pair = s->last;
    if (!pair)
        return -ENOMEM;
    learn_other(p, t, pair->wrote);
    if (write)
        learn_other(p, t, pair->read);
    uint32_t *touched = &pair->touched;
    void *what = pair;
    if (s->reading) {
        struct wcp_reader *r = reader_of(p, pair, t->base.slot);
        if (!r)
            return -ENOMEM;
        touched = &r->touched;
        what = r;
    } else if (RB_UNLIKELY(pair->readers)) {
        learn_readers(p, t, pair, write);
    }
    if (!*touched && note_use(p, s, what) < 0)
        return -ENOMEM;
    *touched |= how;
    return 0;
}

int wcp_sections_access(struct wcp *p, struct wcp_thread *t, uint64_t variable, bool write)
{
    for (uint32_t i = 0; i < t->depth; i++)
        if (section_access(p, t, &t->sections[i], variable, write) < 0)
            return -ENOMEM;
    return 0;
}

static int put_last(struct wcp *p, struct wcp_thread *t, struct rb_handover last[2])
{
    if (last[0].clock && last[0].thread != t->base.slot) {
        rb_snapshot_drop(&p->clocks, last[1].clock);
        last[1] = last[0];
        last[0].clock = NULL;
    }
    return wcp_hand_over(p, t, &last[0]);
}

int wcp_section_end(struct wcp *p, struct wcp_thread *t, struct wcp_section *s)
{
    int status = 0;

    for (uint32_t i = 0; i < s->count && status == 0; i++) {
        if (s->reading) {
            struct wcp_reader *r = s->readers[i];
            status = wcp_hand_over(p, t, r->touched & WCP_WROTE ? &r->wrote : &r->read);
            r->touched = 0;
        } else {
            struct wcp_pair *pair = s->pairs[i];
            status = put_last(p, t, pair->touched & WCP_WROTE ? pair->wrote : pair->read);
            pair->touched = 0;
        }
    }
    s->count = 0;
    return status;
}
