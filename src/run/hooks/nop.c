// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The baseline of every measurement: all functions that compilers call under
// -fsanitize=thread, without any work beyond the program's (atomics perform their operation).
// The cost of a run above this is the detector's.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/atomic.h"

#define RB_EXPORT __attribute__((visibility("default")))
#define RB_NOTHING(name, params)         \
    RB_EXPORT void __tsan_##name params; \
    RB_EXPORT void __tsan_##name params  \
    {                                    \
    }
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define RB_OF_SIZE(n)                                 \
    RB_NOTHING(read##n, (void *a))                    \
    RB_NOTHING(write##n, (void *a))                   \
    RB_NOTHING(unaligned_read##n, (void *a))          \
    RB_NOTHING(unaligned_write##n, (void *a))         \
    RB_NOTHING(read_write##n, (void *a))              \
    RB_NOTHING(unaligned_read_write##n, (void *a))    \
    RB_NOTHING(volatile_read##n, (void *a))           \
    RB_NOTHING(volatile_write##n, (void *a))          \
    RB_NOTHING(unaligned_volatile_read##n, (void *a)) \
    RB_NOTHING(unaligned_volatile_write##n, (void *a))
RB_OF_SIZE(1)
RB_OF_SIZE(2)
RB_OF_SIZE(4)
RB_OF_SIZE(8)
RB_OF_SIZE(16)
RB_NOTHING(read_range, (void *a, size_t n))
RB_NOTHING(write_range, (void *a, size_t n))
RB_NOTHING(vptr_update, (void **a, void *v))
RB_NOTHING(vptr_read, (void **a))
RB_NOTHING(func_entry, (void *pc))
RB_NOTHING(func_exit, (void))
RB_NOTHING(init, (void))
RB_NOTHING(ignore_thread_begin, (void))
RB_NOTHING(ignore_thread_end, (void))
RB_NOTHING(atomic_signal_fence, (int order))

RB_EXPORT void *__tsan_memcpy(void *to, const void *from, size_t n);
RB_EXPORT void *__tsan_memcpy(void *to, const void *from, size_t n)
{
    return memcpy(to, from, n);
}

RB_EXPORT void *__tsan_memmove(void *to, const void *from, size_t n);
RB_EXPORT void *__tsan_memmove(void *to, const void *from, size_t n)
{
    return memmove(to, from, n);
}

RB_EXPORT void *__tsan_memset(void *to, int value, size_t n);
RB_EXPORT void *__tsan_memset(void *to, int value, size_t n)
{
    return memset(to, value, n);
}

RB_EXPORT void __tsan_atomic_thread_fence(int order);
RB_EXPORT void __tsan_atomic_thread_fence(int order)
{
    rb_fence_seq_cst();
}

typedef uint8_t a8;
typedef uint16_t a16;
typedef uint32_t a32;
typedef uint64_t a64;

#define RB_RMW_OF(bits, name, builtin)                                                             \
    RB_EXPORT a##bits __tsan_atomic##bits##_##name(volatile a##bits *a, a##bits value, int order); \
    RB_EXPORT a##bits __tsan_atomic##bits##_##name(volatile a##bits *a, a##bits value, int order)  \
    {                                                                                              \
        return builtin(a, value);                                                                  \
    }
#define RB_CAS_OF(bits, name)                                                                         \
    RB_EXPORT int __tsan_atomic##bits##_##name(volatile a##bits *a, a##bits *expected, a##bits value, \
                                               int order, int failed);                                \
    RB_EXPORT int __tsan_atomic##bits##_##name(volatile a##bits *a, a##bits *expected, a##bits value, \
                                               int order, int failed)                                 \
    {                                                                                                 \
        return rb_cas_strong_seq_cst(a, expected, value);                                             \
    }
#define RB_ATOMIC_OF(bits)                                                                              \
    RB_EXPORT a##bits __tsan_atomic##bits##_load(const volatile a##bits *a, int order);                 \
    RB_EXPORT a##bits __tsan_atomic##bits##_load(const volatile a##bits *a, int order)                  \
    {                                                                                                   \
        return rb_load_seq_cst(a);                                                                      \
    }                                                                                                   \
    RB_EXPORT void __tsan_atomic##bits##_store(volatile a##bits *a, a##bits value, int order);          \
    RB_EXPORT void __tsan_atomic##bits##_store(volatile a##bits *a, a##bits value, int order)           \
    {                                                                                                   \
        if (order == __ATOMIC_RELAXED)                                                                  \
            rb_store_relaxed(a, value);                                                                 \
        else                                                                                            \
            rb_store_seq_cst(a, value);                                                                 \
    }                                                                                                   \
    RB_RMW_OF(bits, exchange, rb_exchange_seq_cst)                                                      \
    RB_RMW_OF(bits, fetch_add, rb_fetch_add_seq_cst)                                                    \
    RB_RMW_OF(bits, fetch_sub, rb_fetch_sub_seq_cst)                                                    \
    RB_RMW_OF(bits, fetch_and, rb_fetch_and_seq_cst)                                                    \
    RB_RMW_OF(bits, fetch_or, rb_fetch_or_seq_cst)                                                      \
    RB_RMW_OF(bits, fetch_xor, rb_fetch_xor_seq_cst)                                                    \
    RB_RMW_OF(bits, fetch_nand, rb_fetch_nand_seq_cst)                                                  \
    RB_CAS_OF(bits, compare_exchange_strong)                                                            \
    RB_CAS_OF(bits, compare_exchange_weak)                                                              \
    RB_EXPORT a##bits __tsan_atomic##bits##_compare_exchange_val(volatile a##bits *a, a##bits expected, \
                                                                 a##bits value, int order, int failed); \
    RB_EXPORT a##bits __tsan_atomic##bits##_compare_exchange_val(volatile a##bits *a, a##bits expected, \
                                                                 a##bits value, int order, int failed)  \
    {                                                                                                   \
        return __sync_val_compare_and_swap(a, expected, value);                                         \
    }
RB_ATOMIC_OF(8)
RB_ATOMIC_OF(16)
RB_ATOMIC_OF(32)
RB_ATOMIC_OF(64)
