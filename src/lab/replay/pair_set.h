// A set of unordered pairs of small numbers, with the number of times each was added: static races (two
// locations) and racy variables. Open addressing; memory grows with the distinct pairs. Tool side.
#ifndef RB_LAB_REPLAY_PAIR_SET_H
#define RB_LAB_REPLAY_PAIR_SET_H

#include "base/types.h"

struct rb_pair_slot {
    uint64_t low, high; // low <= high
    uint64_t times;     // 0: free slot
};

struct rb_pair_set {
    struct rb_pair_slot *slots;
    uint64_t capacity; // power of two or 0
    uint64_t count;
};

// Adds one occurrence. Returns false when memory is out.
bool rb_pair_add(struct rb_pair_set *set, uint64_t a, uint64_t b);
// Returns NULL if the pair is absent.
const struct rb_pair_slot *rb_pair_find(const struct rb_pair_set *set, uint64_t a, uint64_t b);
// Returns the number of pairs of `set` that are in `other` as well.
uint64_t rb_pair_common(const struct rb_pair_set *set, const struct rb_pair_set *other);
void rb_pair_free(struct rb_pair_set *set);

#endif
