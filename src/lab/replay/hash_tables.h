// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The hash tables of the lab: dense numbers for sparse ones, and counted pairs. Tool side.
#ifndef RB_LAB_REPLAY_HASH_TABLES_H
#define RB_LAB_REPLAY_HASH_TABLES_H

#include "base/types.h"

// ---- dense numbers -------------------------------------------------------------------------------------

// Maps sparse numbers to dense ones (0, 1, 2 … in order of appearance), and is emptied in constant time:
// RPT's windows name few of a trace's variables and locks, and must not pay for the rest.
struct rb_id_slot {
    uint64_t key;
    uint32_t value;
    uint32_t round; // the slot is free unless this is the map's round
};

struct rb_id_map {
    struct rb_id_slot *slots;
    uint64_t capacity; // power of two or 0
    uint32_t count, round;
};

// Returns the dense number of `key`, assigned now if it has none; UINT32_MAX when memory is out.
uint32_t rb_id_map_get(struct rb_id_map *m, uint64_t key);
void rb_id_map_clear(struct rb_id_map *m);
void rb_id_map_free(struct rb_id_map *m);

// ---- pairs ---------------------------------------------------------------------------------------------

// A set of unordered pairs of small numbers, with the number of times each was added: static races (two
// locations) and racy variables. Open addressing; memory grows with the distinct pairs.
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
