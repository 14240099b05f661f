// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#define _GNU_SOURCE 1
#include "trace/intern.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { MOST_LENGTH_BYTES = 5 };

uint64_t rb_intern_hash(const char *name, uint32_t length)
{
    uint64_t word, hash = length;

    for (uint32_t i = 0; i + 8 <= length; i += 8) {
        memcpy(&word, name + i, 8);
        hash = (hash ^ word) * RB_GOLDEN;
        hash ^= hash >> 32;
    }
    memcpy(&word, name + length - 8, 8);
    return rb_mix64(hash ^ word);
}

static unsigned put_length(unsigned char *to, uint32_t length)
{
    unsigned n = 0;

    for (; length >= 0x80; length >>= 7)
        to[n++] = (unsigned char)(length | 0x80);
    to[n++] = (unsigned char)length;
    return n;
}

const char *rb_intern_name(const struct rb_intern *t, uint32_t id, uint32_t *length)
{
    const unsigned char *p = t->packed + t->offset[id];
    unsigned shift = 0;

    *length = 0;
    do {
        *length |= (uint32_t)(*p & 0x7f) << shift;
        shift += 7;
    } while (*p++ & 0x80);
    return (const char *)p;
}

// Returns the slot with the name, or the free one where it would go.
static struct rb_intern_slot *slot_of(const struct rb_intern *t, const char *name, uint32_t length)
{
    const struct rb_intern_key k = rb_intern_key_of(name, length);

    for (uint64_t i = k.hash;; i++) {
        struct rb_intern_slot *s = &t->slots[i & (t->capacity - 1)];
        uint32_t n;
        if (s->id_plus_1 == 0)
            return s;
        if (s->key != k.key || s->length != length)
            continue;
        if (length <= 8 || memcmp(rb_intern_name(t, s->id_plus_1 - 1, &n), name, length) == 0)
            return s;
    }
}

// Returns zeroed slots. Large tables ask for huge pages: lookups are scattered, and TLB misses would be
// half their cost.
static struct rb_intern_slot *new_slots(uint64_t capacity)
{
    const uint64_t bytes = capacity * sizeof(struct rb_intern_slot), huge = UINT64_C(2) << 20;

    if (bytes < huge)
        return calloc(capacity, sizeof(struct rb_intern_slot));
    void *slots = aligned_alloc(huge, bytes);
    if (slots) {
        madvise(slots, bytes, MADV_HUGEPAGE); // a hint
        memset(slots, 0, bytes);
    }
    return slots;
}

static bool grow_slots(struct rb_intern *t)
{
    const uint64_t capacity = t->capacity ? t->capacity * 2 : 256;
    struct rb_intern_slot *old = t->slots;
    const uint64_t old_capacity = t->capacity;
    struct rb_intern_slot *slots = capacity <= UINT64_C(1) << 32 ? new_slots(capacity) : NULL;

    if (!slots)
        return false;
    t->slots = slots;
    t->capacity = capacity;
    for (uint64_t i = 0; i < old_capacity; i++) {
        if (old[i].id_plus_1 == 0)
            continue;
        uint64_t k = rb_intern_spread(old[i].key, old[i].length) & (capacity - 1);
        while (slots[k].id_plus_1 != 0)
            k = (k + 1) & (capacity - 1);
        slots[k] = old[i];
    }
    free(old);
    return true;
}

static bool grow_names(struct rb_intern *t, uint32_t length)
{
    if (t->count == t->offset_capacity) {
        const uint64_t capacity = t->offset_capacity ? t->offset_capacity * 2 : 128;
        uint64_t *offset = realloc(t->offset, capacity * sizeof(offset[0]));
        if (!offset)
            return false;
        t->offset = offset;
        t->offset_capacity = capacity;
    }
    if (t->packed_capacity - t->bytes < (uint64_t)length + MOST_LENGTH_BYTES) {
        const uint64_t capacity = t->packed_capacity * 2 + length + 4096;
        unsigned char *packed = realloc(t->packed, capacity);
        if (!packed)
            return false;
        t->packed = packed;
        t->packed_capacity = capacity;
    }
    return true;
}

uint32_t rb_intern_find(const struct rb_intern *t, const char *name, uint32_t length)
{
    return t->capacity ? slot_of(t, name, length)->id_plus_1 - 1 : RB_INTERN_NONE;
}

uint32_t rb_intern_add(struct rb_intern *t, const char *name, uint32_t length)
{
    if ((uint64_t)t->count * 2 >= t->capacity && !grow_slots(t))
        return RB_INTERN_NONE;
    struct rb_intern_slot *s = slot_of(t, name, length);
    if (s->id_plus_1 != 0)
        return s->id_plus_1 - 1;
    if (t->count >= RB_INTERN_NONE - 1 || !grow_names(t, length))
        return RB_INTERN_NONE;
    t->offset[t->count] = t->bytes;
    t->bytes += put_length(t->packed + t->bytes, length);
    memcpy(t->packed + t->bytes, name, length);
    t->bytes += length;
    *s = (struct rb_intern_slot){.key = rb_intern_word(name, length),
                                 .length = length,
                                 .id_plus_1 = ++t->count};
    return t->count - 1;
}

void rb_intern_free(struct rb_intern *t)
{
    free(t->slots);
    free(t->packed);
    free(t->offset);
    *t = (struct rb_intern){0};
}

// ---- integers ------------------------------------------------------------------------------------------

static void place_value(struct rb_int_intern *t, int32_t value, uint32_t id)
{
    uint32_t i = rb_int_home(t, value);

    while (t->slots[i].id_plus_1 != 0)
        i = (i + 1) & (t->capacity - 1);
    t->slots[i] = (struct rb_int_slot){.value = value, .id_plus_1 = id + 1};
}

static bool grow_values(struct rb_int_intern *t)
{
    const uint32_t capacity = t->capacity ? t->capacity * 2 : 1024;
    int32_t *values = realloc(t->values, (size_t)capacity / 2 * sizeof(values[0]));
    struct rb_int_slot *slots = calloc(capacity, sizeof(slots[0]));

    if (values)
        t->values = values;
    if (!values || !slots) {
        free(slots);
        return false;
    }
    free(t->slots);
    t->slots = slots;
    t->capacity = capacity;
    for (uint32_t id = 0; id < t->count; id++)
        place_value(t, values[id], id);
    return true;
}

uint32_t rb_int_add(struct rb_int_intern *t, int32_t value)
{
    if (t->count >= t->capacity / 2 && !grow_values(t))
        return RB_INTERN_NONE;
    t->values[t->count] = value;
    place_value(t, value, t->count);
    return t->count++;
}

void rb_int_free(struct rb_int_intern *t)
{
    free(t->slots);
    free(t->values);
    *t = (struct rb_int_intern){0};
}
