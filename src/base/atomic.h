// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Atomic operations with the memory order in the name. `at` points to the word; the others are values.
//
// A compare-and-swap has its order for success; failure is relaxed, but acquire where the success acquires and
// sequentially consistent where that is.
#ifndef RB_BASE_ATOMIC_H
#define RB_BASE_ATOMIC_H

#define rb_load_relaxed(at) __atomic_load_n(at, __ATOMIC_RELAXED)
#define rb_load_acquire(at) __atomic_load_n(at, __ATOMIC_ACQUIRE)
#define rb_load_seq_cst(at) __atomic_load_n(at, __ATOMIC_SEQ_CST)

#define rb_store_relaxed(at, value) __atomic_store_n(at, value, __ATOMIC_RELAXED)
#define rb_store_release(at, value) __atomic_store_n(at, value, __ATOMIC_RELEASE)
#define rb_store_seq_cst(at, value) __atomic_store_n(at, value, __ATOMIC_SEQ_CST)

// These return the value before the operation.
#define rb_exchange_relaxed(at, value)   __atomic_exchange_n(at, value, __ATOMIC_RELAXED)
#define rb_exchange_acquire(at, value)   __atomic_exchange_n(at, value, __ATOMIC_ACQUIRE)
#define rb_exchange_acq_rel(at, value)   __atomic_exchange_n(at, value, __ATOMIC_ACQ_REL)
#define rb_exchange_seq_cst(at, value)   __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST)
#define rb_fetch_add_relaxed(at, value)  __atomic_fetch_add(at, value, __ATOMIC_RELAXED)
#define rb_fetch_add_release(at, value)  __atomic_fetch_add(at, value, __ATOMIC_RELEASE)
#define rb_fetch_add_acq_rel(at, value)  __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL)
#define rb_fetch_add_seq_cst(at, value)  __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST)
#define rb_fetch_sub_relaxed(at, value)  __atomic_fetch_sub(at, value, __ATOMIC_RELAXED)
#define rb_fetch_sub_acq_rel(at, value)  __atomic_fetch_sub(at, value, __ATOMIC_ACQ_REL)
#define rb_fetch_sub_seq_cst(at, value)  __atomic_fetch_sub(at, value, __ATOMIC_SEQ_CST)
#define rb_fetch_or_relaxed(at, value)   __atomic_fetch_or(at, value, __ATOMIC_RELAXED)
#define rb_fetch_or_seq_cst(at, value)   __atomic_fetch_or(at, value, __ATOMIC_SEQ_CST)
#define rb_fetch_and_relaxed(at, value)  __atomic_fetch_and(at, value, __ATOMIC_RELAXED)
#define rb_fetch_and_seq_cst(at, value)  __atomic_fetch_and(at, value, __ATOMIC_SEQ_CST)
#define rb_fetch_xor_seq_cst(at, value)  __atomic_fetch_xor(at, value, __ATOMIC_SEQ_CST)
#define rb_fetch_nand_seq_cst(at, value) __atomic_fetch_nand(at, value, __ATOMIC_SEQ_CST)

// These return the value after the operation.
#define rb_add_fetch_relaxed(at, value) __atomic_add_fetch(at, value, __ATOMIC_RELAXED)
#define rb_add_fetch_acq_rel(at, value) __atomic_add_fetch(at, value, __ATOMIC_ACQ_REL)
#define rb_sub_fetch_relaxed(at, value) __atomic_sub_fetch(at, value, __ATOMIC_RELAXED)

// `expected` points to the value that must be there; where another one is, that is written to it.
#define rb_cas_weak_relaxed(at, expected, value) \
    __atomic_compare_exchange_n(at, expected, value, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
#define rb_cas_weak_release(at, expected, value) \
    __atomic_compare_exchange_n(at, expected, value, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED)
#define rb_cas_strong_relaxed(at, expected, value) \
    __atomic_compare_exchange_n(at, expected, value, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
#define rb_cas_strong_acquire(at, expected, value) \
    __atomic_compare_exchange_n(at, expected, value, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)
#define rb_cas_strong_acq_rel(at, expected, value) \
    __atomic_compare_exchange_n(at, expected, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
#define rb_cas_strong_seq_cst(at, expected, value) \
    __atomic_compare_exchange_n(at, expected, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

#define rb_fence_acquire() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define rb_fence_seq_cst() __atomic_thread_fence(__ATOMIC_SEQ_CST)
// Orders against signal handlers of the same thread alone.
#define rb_fence_signal() __atomic_signal_fence(__ATOMIC_SEQ_CST)

#endif
