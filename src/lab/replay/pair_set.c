// Linear probing, at most half full; a pair is never removed, so no tombstones.
#include "lab/replay/pair_set.h"

#include <stdlib.h>

#include "base/rng.h"

static uint64_t hash_pair(uint64_t low, uint64_t high)
{
    return rb_mix64(rb_mix64(low + 0x9e3779b97f4a7c15u) + high);
}

// Returns the slot of the pair, or the free slot where it belongs. Needs a free slot.
static struct rb_pair_slot *slot_of(const struct rb_pair_set *set, uint64_t low, uint64_t high)
{
    const uint64_t mask = set->capacity - 1;
    uint64_t i = hash_pair(low, high) & mask;

    while (set->slots[i].times != 0 && (set->slots[i].low != low || set->slots[i].high != high))
        i = (i + 1) & mask;
    return &set->slots[i];
}

static bool grow_set(struct rb_pair_set *set)
{
    struct rb_pair_set bigger = {.capacity = set->capacity ? set->capacity * 2 : 64, .count = set->count};

    bigger.slots = calloc(bigger.capacity, sizeof(bigger.slots[0]));
    if (!bigger.slots)
        return false;
    for (uint64_t i = 0; i < set->capacity; i++) {
        const struct rb_pair_slot *p = &set->slots[i];
        if (p->times != 0)
            *slot_of(&bigger, p->low, p->high) = *p;
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
    struct rb_pair_slot *p = slot_of(set, low, high);
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
    const struct rb_pair_slot *p = slot_of(set, a < b ? a : b, a < b ? b : a);
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
