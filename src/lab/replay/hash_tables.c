// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Both tables use linear probing, at most half full. Entries are never removed one by one, so there are no
// tombstones.
#include "lab/replay/hash_tables.h"

#include <stdlib.h>

#include "base/rng.h"

#define FIRST_IDS   1024u
#define FIRST_PAIRS 64u

// ---- dense numbers -------------------------------------------------------------------------------------

static struct rb_id_slot *find_slot(const struct rb_id_map *m, uint64_t key)
{
    const uint64_t mask = m->capacity - 1;
    uint64_t i = rb_mix64(key) & mask;

    while (m->slots[i].round == m->round && m->slots[i].key != key)
        i = (i + 1) & mask;
    return &m->slots[i];
}

static bool grow_map(struct rb_id_map *m)
{
    struct rb_id_map bigger = {.capacity = m->capacity ? 2 * m->capacity : FIRST_IDS, .round = 1};

    bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
    if (!bigger.slots)
        return false;
    for (uint64_t i = 0; i < m->capacity; i++) {
        if (m->slots[i].round != m->round)
            continue;
        struct rb_id_slot *s = find_slot(&bigger, m->slots[i].key);
        *s = (struct rb_id_slot){m->slots[i].key, m->slots[i].value, 1};
    }
    bigger.count = m->count;
    free(m->slots);
    *m = bigger;
    return true;
}

uint32_t rb_id_map_get(struct rb_id_map *m, uint64_t key)
{
    if (RB_UNLIKELY(2 * (uint64_t)m->count >= m->capacity) && !grow_map(m))
        return UINT32_MAX;
    struct rb_id_slot *s = find_slot(m, key);
    if (s->round != m->round)
        *s = (struct rb_id_slot){key, m->count++, m->round};
    return s->value;
}

void rb_id_map_clear(struct rb_id_map *m)
{
    m->count = 0;
    if (++m->round == 0) { // wrapped: stale rounds could look current
        for (uint64_t i = 0; i < m->capacity; i++)
            m->slots[i].round = 0;
        m->round = 1;
    }
}

void rb_id_map_free(struct rb_id_map *m)
{
    free(m->slots);
    *m = (struct rb_id_map){0};
}

// ---- pairs ---------------------------------------------------------------------------------------------

static uint64_t hash_pair(uint64_t low, uint64_t high)
{
    return rb_mix64(rb_mix64(low + RB_GOLDEN) + high);
}

// Returns the slot of the pair, or the free slot where it belongs. Needs a free slot.
static struct rb_pair_slot *pair_slot(const struct rb_pair_set *set, uint64_t low, uint64_t high)
{
    const uint64_t mask = set->capacity - 1;
    uint64_t i = hash_pair(low, high) & mask;

    while (set->slots[i].times != 0 && (set->slots[i].low != low || set->slots[i].high != high))
        i = (i + 1) & mask;
    return &set->slots[i];
}

static bool grow_set(struct rb_pair_set *set)
{
    struct rb_pair_set bigger = {.capacity = set->capacity ? set->capacity * 2 : FIRST_PAIRS,
                                 .count = set->count};

    bigger.slots = calloc(bigger.capacity, sizeof(bigger.slots[0]));
    if (!bigger.slots)
        return false;
    for (uint64_t i = 0; i < set->capacity; i++) {
        const struct rb_pair_slot *p = &set->slots[i];
        if (p->times != 0)
            *pair_slot(&bigger, p->low, p->high) = *p;
    }
    free(set->slots);
    *set = bigger;
    return true;
}

bool rb_pair_add(struct rb_pair_set *set, uint64_t a, uint64_t b)
{
    const uint64_t low = a < b ? a : b, high = a < b ? b : a;

    if (set->count * 2 >= set->capacity && !grow_set(set))
        return false;
    struct rb_pair_slot *p = pair_slot(set, low, high);
    if (p->times == 0) {
        p->low = low;
        p->high = high;
        set->count++;
    }
    p->times++;
    return true;
}

const struct rb_pair_slot *rb_pair_find(const struct rb_pair_set *set, uint64_t a, uint64_t b)
{
    if (set->capacity == 0)
        return NULL;
    const struct rb_pair_slot *p = pair_slot(set, a < b ? a : b, a < b ? b : a);
    return p->times != 0 ? p : NULL;
}

uint64_t rb_pair_common(const struct rb_pair_set *set, const struct rb_pair_set *other)
{
    uint64_t common = 0;

    for (uint64_t i = 0; i < set->capacity; i++) {
        const struct rb_pair_slot *p = &set->slots[i];
        if (p->times != 0 && rb_pair_find(other, p->low, p->high))
            common++;
    }
    return common;
}

void rb_pair_free(struct rb_pair_set *set)
{
    free(set->slots);
    *set = (struct rb_pair_set){0};
}
