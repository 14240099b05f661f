// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Definitions that every file uses: fixed-width types and compiler hints for the fast paths.
#ifndef RB_BASE_TYPES_H
#define RB_BASE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"

#define RB_LIKELY(x)   __builtin_expect(!!(x), 1)
#define RB_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define RB_NOINLINE    __attribute__((noinline))
#define RB_INLINE      static inline __attribute__((always_inline))
#define RB_LENGTH(a)   (sizeof(a) / sizeof((a)[0]))

// Receives the progress of long work from time to time.
typedef void (*rb_progress_fn)(void *context, uint64_t done, uint64_t total);

// Marks loops over clock entries: compiled once for AVX2 and once for any x86-64; the loader chooses.
// Sanitizers instrument the resolver before their runtime is initialised, so they get the plain version. So
// does clang before 16, which gives the resolver a name that other files do not find.
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define RB_NO_CLONES 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    (defined(__clang__) && __clang_major__ < 16)
#define RB_NO_CLONES 1
#endif
#if defined(__x86_64__) && !defined(RB_NO_CLONES)
#define RB_SIMD __attribute__((target_clones("avx2", "default")))
#else
#define RB_SIMD
#endif

// ---- the hash of tables in memory ----------------------------------------------------------------------------

// The upper bits of a multiple of the golden ratio. Neighbouring values are spread evenly; the upper bits of the
// result depend on all bits of the value.
#define RB_GOLDEN UINT64_C(0x9e3779b97f4a7c15) // 2^64 divided by the golden ratio, odd

// Returns `bits` bits of hash: 1 to 64.
RB_INLINE uint64_t rb_hash(uint64_t value, unsigned bits)
{
    return value * RB_GOLDEN >> (64 - bits);
}

// ---- the checksum of tables in files -------------------------------------------------------------------------

// Continues a checksum over the bytes, whose number is a multiple of 4.
RB_INLINE uint32_t rb_checksum(uint32_t sum, const void *data, size_t bytes)
{
    const unsigned char *at = (const unsigned char *)data;
    uint32_t word;

    for (size_t i = 0; i + sizeof(word) <= bytes; i += sizeof(word)) {
        __builtin_memcpy(&word, at + i, sizeof(word));
        sum = (sum ^ word) * 0x9e3779b1u;
        sum ^= sum >> 15;
    }
    return sum;
}

#endif
