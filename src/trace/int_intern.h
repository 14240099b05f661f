// 32-bit integers to dense numbers, in the order of first appearance: the locations of STD text. Linear
// probing, at most half full. Tool side.
#ifndef RB_TRACE_INT_INTERN_H
#define RB_TRACE_INT_INTERN_H

#include "trace/intern.h"

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
    return (uint32_t)(((uint64_t)(uint32_t)value * 0x9e3779b97f4a7c15u) >> 32) & (t->capacity - 1);
}

// Number of a value, or RB_INTERN_NONE.
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

// Numbers a value that has none yet; RB_INTERN_NONE when memory is out.
uint32_t rb_int_add(struct rb_int_intern *t, int32_t value);
void rb_int_free(struct rb_int_intern *t);

#endif
