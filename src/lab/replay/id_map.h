// Maps sparse numbers to dense ones (0, 1, 2 … in order of appearance), and is emptied in constant time:
// RPT's windows name few of a trace's variables and locks, and must not pay for the rest. Tool side.
#ifndef RB_LAB_REPLAY_ID_MAP_H
#define RB_LAB_REPLAY_ID_MAP_H

#include "base/types.h"

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

#endif
