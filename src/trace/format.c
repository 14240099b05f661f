// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "trace/format.h"

#include "base/rng.h"

const struct rb_op_info rb_op_info[RB_OPS] = {
#define RB_EVENT(code, NAME, text, space, acquires, releases, rapid) \
    [code] = {text, RB_SPACE_##space, acquires, releases, rapid},
#include "trace/events.def"
#undef RB_EVENT
};

const enum rbt_table rb_table_of_space[] = {
    [RB_SPACE_VARIABLE] = RBT_VARIABLES, [RB_SPACE_LOCK] = RBT_LOCKS, [RB_SPACE_THREAD] = RBT_THREADS,
    [RB_SPACE_FUNCTION] = RBT_FUNCTIONS, [RB_SPACE_MARK] = RBT_MARKS,
};

bool rb_layout_set(struct rb_layout *l, unsigned record_bytes, unsigned target_bits, unsigned thread_bits,
                   unsigned location_bits)
{
    *l = (struct rb_layout){.record_bytes = (uint8_t)record_bytes};
    if (record_bytes == 16)
        return true;
    if (record_bytes != 8 || target_bits > 56 || thread_bits > 32 || location_bits > 32 ||
        target_bits + thread_bits + location_bits > RBT_OPCODE_SHIFT)
        return false;
    l->thread_shift = (uint8_t)target_bits;
    l->location_shift = (uint8_t)(target_bits + thread_bits);
    l->target_mask = (UINT64_C(1) << target_bits) - 1;
    l->thread_mask = (uint32_t)((UINT64_C(1) << thread_bits) - 1);
    l->location_mask = (uint32_t)((UINT64_C(1) << location_bits) - 1);
    return true;
}

RB_SIMD uint64_t rb_sum(const uint64_t *data, size_t words, uint64_t seed)
{
    uint64_t a[4] = {seed, seed ^ 0x5851f42d4c957f2du, ~seed, seed + RB_GOLDEN};
    uint64_t b[4] = {0, 0, 0, 0};
    size_t i = 0;

    for (; i + 4 <= words; i += 4) {
        for (int k = 0; k < 4; k++) {
            a[k] += data[i + (size_t)k];
            b[k] += a[k];
        }
    }
    for (int k = 0; i < words; i++, k++) {
        a[k] += data[i];
        b[k] += a[k];
    }
    uint64_t sum = words;
    for (int k = 0; k < 4; k++)
        sum = rb_mix64(sum + rb_mix64(a[k]) + b[k]);
    return sum;
}
