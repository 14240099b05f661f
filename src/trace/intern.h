// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Maps names to dense numbers, in the order of first appearance. The names are kept in the form of a
// trace's table (LEB128 length, bytes), ready to be written. Tool side.
//
// A slot holds the name itself if it has at most 8 bytes, so the usual lookup is one cache line and no
// string comparison. A longer name leaves its hash there, and is compared with the stored bytes. Lookups
// may read up to 7 bytes past the name: callers pad their buffers.
#ifndef RB_TRACE_INTERN_H
#define RB_TRACE_INTERN_H

#include <string.h>

#include "base/rng.h"
#include "base/types.h"

#define RB_INTERN_NONE UINT32_MAX
#define RB_INTERN_PAD  8

struct rb_intern_slot {
    uint64_t key; // the bytes, zero-extended, or the hash of a longer name
    uint32_t length;
    uint32_t id_plus_1; // 0: free
};

struct rb_intern {
    struct rb_intern_slot *slots;
    uint64_t capacity; // power of two; 0 before the first name
    uint32_t count;
    unsigned char *packed; // all names
    uint64_t bytes, packed_capacity;
    uint64_t *offset; // of name i in `packed`
    uint64_t offset_capacity;
};

uint64_t rb_intern_hash(const char *name, uint32_t length); // the key of a name of more than 8 bytes

// Returns the slot key of a name.
RB_INLINE uint64_t rb_intern_word(const char *name, uint32_t length)
{
    uint64_t word;

    if (RB_UNLIKELY(length - 1 > 7))
        return length == 0 ? 0 : rb_intern_hash(name, length);
    memcpy(&word, name, 8);
    const unsigned beyond = 8 * (8 - length); // bits that are not the name's
    return word << beyond >> beyond;
}

// The search key of a name.
struct rb_intern_key {
    uint64_t key;
    uint32_t hash, length;
};

RB_INLINE uint32_t rb_intern_spread(uint64_t key, uint32_t length)
{
    const uint64_t hash = (key + length) * RB_GOLDEN;

    return (uint32_t)(((hash ^ hash >> 32) * 0xd6e8feb86659fd93u) >> 32);
}

RB_INLINE struct rb_intern_key rb_intern_key_of(const char *name, uint32_t length)
{
    const uint64_t key = rb_intern_word(name, length);

    return (struct rb_intern_key){key, rb_intern_spread(key, length), length};
}

// Returns the number of a name, or RB_INTERN_NONE.
uint32_t rb_intern_find(const struct rb_intern *t, const char *name, uint32_t length);
// Returns the number of a name, made if new; RB_INTERN_NONE when memory or numbers are out.
uint32_t rb_intern_add(struct rb_intern *t, const char *name, uint32_t length);
// Returns the bytes of name `id`, not terminated.
const char *rb_intern_name(const struct rb_intern *t, uint32_t id, uint32_t *length);
void rb_intern_free(struct rb_intern *t);

// Does rb_intern_add with the common case in line: a short name in its first or second slot.
RB_INLINE uint32_t rb_intern_get(struct rb_intern *t, const struct rb_intern_key *k, const char *name)
{
    if (RB_LIKELY(k->length <= 8 && t->capacity)) {
        const struct rb_intern_slot *s = &t->slots[k->hash & (t->capacity - 1)];
        if (RB_LIKELY(s->key == k->key && s->length == k->length && s->id_plus_1))
            return s->id_plus_1 - 1;
        s = &t->slots[(k->hash + 1) & (t->capacity - 1)];
        if (RB_LIKELY(s->key == k->key && s->length == k->length && s->id_plus_1))
            return s->id_plus_1 - 1;
    }
    return rb_intern_add(t, name, k->length);
}

// Prefetches the slot of a name that will be looked up soon.
RB_INLINE void rb_intern_prefetch(const struct rb_intern *t, const struct rb_intern_key *k)
{
    if (RB_LIKELY(t->capacity))
        __builtin_prefetch(&t->slots[k->hash & (t->capacity - 1)]);
}

// ---- 32-bit integers -----------------------------------------------------------------------------------
// The locations of STD text, numbered in the same way. Linear probing, at most half full.

struct rb_int_slot {
    int32_t value;
    uint32_t id_plus_1; // 0: free
};

struct rb_int_intern {
    struct rb_int_slot *slots;
    uint32_t capacity, count; // capacity is a power of two; 0 before the first number
    int32_t *values;          // of each number
};

RB_INLINE uint32_t rb_int_home(const struct rb_int_intern *t, int32_t value)
{
    return (uint32_t)(((uint64_t)(uint32_t)value * RB_GOLDEN) >> 32) & (t->capacity - 1);
}

// Returns the number of a value, or RB_INTERN_NONE.
RB_INLINE uint32_t rb_int_find(const struct rb_int_intern *t, int32_t value)
{
    if (RB_UNLIKELY(t->capacity == 0))
        return RB_INTERN_NONE;
    uint32_t i = rb_int_home(t, value);
    while (t->slots[i].id_plus_1 != 0 && t->slots[i].value != value)
        i = (i + 1) & (t->capacity - 1);
    return t->slots[i].id_plus_1 - 1;
}

RB_INLINE void rb_int_prefetch(const struct rb_int_intern *t, int32_t value)
{
    if (RB_LIKELY(t->capacity))
        __builtin_prefetch(&t->slots[rb_int_home(t, value)]);
}

// Numbers a value that has none yet. Returns RB_INTERN_NONE when memory is out.
uint32_t rb_int_add(struct rb_int_intern *t, int32_t value);
void rb_int_free(struct rb_int_intern *t);

#endif
