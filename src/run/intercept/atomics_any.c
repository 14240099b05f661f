// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Atomics that compilers leave to libatomic: odd sizes, unaligned addresses, and 16 bytes where the
// processor may lack them. All such calls of the process come here, and libatomic itself is not called.
// Aligned operations of a word's size are done as compilers do them inline; all others take a lock.
//
// Each operation that writes releases before it is done, and each one that reads acquires after it. The
// requested order is ignored: additional order hides races and invents none.
#include <stddef.h>
#include <stdint.h>

#include "inproc/spin.h"
#include "run/intercept/callers.h"
#include "run/intercept/intercept.h"
#include "run/sync/sync.h"

typedef unsigned __int128 u128;

static rb_spin locks[64];

static rb_spin *lock_of(const volatile void *a)
{
    return &locks[((uintptr_t)a >> 4) % RB_LENGTH(locks)];
}

static void copy_bytes(volatile void *to, const volatile void *from, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((volatile char *)to)[i] = ((const volatile char *)from)[i];
}

static bool is_equal(const volatile void *a, const volatile void *b, size_t size)
{
    size_t i = 0;

    while (i < size && ((const volatile char *)a)[i] == ((const volatile char *)b)[i])
        i++;
    return i == size;
}

// ---- the operations themselves -------------------------------------------------------------------------

// Exchanges the value at `a`: reads the new one from `from`, if
// given, and puts the old one at `to`, if given.
#define SWAP_OF(type, EXCHANGE, LOAD)                \
    do {                                             \
        type put = 0, old;                           \
        if (from) {                                  \
            copy_bytes(&put, from, size);            \
            old = EXCHANGE((volatile type *)a, put); \
        } else {                                     \
            old = LOAD((volatile type *)a);          \
        }                                            \
        if (to)                                      \
            copy_bytes(to, &old, size);              \
        return;                                      \
    } while (0)
#define EXCHANGE(a, put) rb_exchange_seq_cst(a, put)
#define LOAD(a)          rb_load_seq_cst(a)
#define LOAD_16(a)       __sync_val_compare_and_swap(a, 0, 0)

static u128 exchange_16(volatile u128 *a, u128 put)
{
    u128 seen = 0, old;

    while ((old = __sync_val_compare_and_swap(a, seen, put)) != seen)
        seen = old;
    return old;
}

// Returns the size if it is a word's size and the address is aligned to it, else 0.
static size_t word_size(size_t size, const volatile void *a)
{
    return size && (uintptr_t)a % size == 0 ? size : 0;
}

static void swap_values(size_t size, volatile void *a, const void *from, void *to)
{
    switch (word_size(size, a)) {
    case 1:
        SWAP_OF(uint8_t, EXCHANGE, LOAD);
    case 2:
        SWAP_OF(uint16_t, EXCHANGE, LOAD);
    case 4:
        SWAP_OF(uint32_t, EXCHANGE, LOAD);
    case 8:
        SWAP_OF(uint64_t, EXCHANGE, LOAD);
    case 16:
        SWAP_OF(u128, exchange_16, LOAD_16);
    default:
        break;
    }
    struct rb_self *me = rb_enter(); // no handler on top of the lock
    rb_spin_lock(lock_of(a));
    if (from && to) { // both may be the same memory
        for (size_t i = 0; i < size; i++) {
            const char was = ((volatile char *)a)[i];
            ((volatile char *)a)[i] = ((const char *)from)[i];
            ((char *)to)[i] = was;
        }
    } else {
        copy_bytes(from ? a : to, from ? from : a, size);
    }
    rb_spin_unlock(lock_of(a));
    if (me)
        rb_leave(me);
}

#define CAS_OF(type)                                                                   \
    do {                                                                               \
        type want, put;                                                                \
        copy_bytes(&want, expected, size);                                             \
        copy_bytes(&put, from, size);                                                  \
        const type found = __sync_val_compare_and_swap((volatile type *)a, want, put); \
        copy_bytes(expected, &found, size);                                            \
        return found == want;                                                          \
    } while (0)

static bool compare_exchange(size_t size, volatile void *a, void *expected, const void *from)
{
    switch (word_size(size, a)) {
    case 1:
        CAS_OF(uint8_t);
    case 2:
        CAS_OF(uint16_t);
    case 4:
        CAS_OF(uint32_t);
    case 8:
        CAS_OF(uint64_t);
    case 16:
        CAS_OF(u128);
    default:
        break;
    }
    struct rb_self *me = rb_enter();
    rb_spin_lock(lock_of(a));
    const bool is = is_equal(a, expected, size);
    copy_bytes(is ? a : expected, is ? from : a, size);
    rb_spin_unlock(lock_of(a));
    if (me)
        rb_leave(me);
    return is;
}

// ---- around them ---------------------------------------------------------------------------------------

// Begins an operation. Returns true if tracking was paused.
static bool begin_operation(const volatile void *a, size_t size, bool writes, uintptr_t pc)
{
    if (rb_is_paused())
        return true;
    RB_TOUCH_AT(RB_HOW_ATOMIC | (writes ? RB_HOW_WRITE : RB_HOW_READ), a, size, pc);
    if (writes)
        RB_BESIDE((void)0, rb_on_release(me, (uintptr_t)a));
    return false;
}

// Ends an operation. A thread that released nothing because tracking was paused
// loses an edge if it is not paused any more.
static void end_operation(const volatile void *a, bool rested, bool writes)
{
    if (!rb_is_paused())
        RB_BESIDE((void)0, rested && writes ? rb_lost_edge(me) : rb_on_acquire(me, (uintptr_t)a));
}

// Compilers reserve these names for themselves, so they are given to the assembler alone.
#define NAMED(name) __asm__(#name)
RB_EXPORT void rb_any_load(size_t size, const volatile void *a, void *to, int order) NAMED(__atomic_load);
RB_EXPORT void rb_any_store(size_t size, volatile void *a, const void *from, int order) NAMED(__atomic_store);
RB_EXPORT void rb_any_exchange(size_t size, volatile void *a, const void *from, void *to, int order)
    NAMED(__atomic_exchange);
RB_EXPORT bool rb_any_compare_exchange(size_t size, volatile void *a, void *expected, const void *from,
                                       int order, int failed) NAMED(__atomic_compare_exchange);

void rb_any_load(size_t size, const volatile void *a, void *to, int order)
{
    const bool rested = begin_operation(a, size, false, RB_PC);

    (void)order;
    swap_values(size, (volatile void *)(uintptr_t)a, NULL, to);
    end_operation(a, rested, false);
}

void rb_any_store(size_t size, volatile void *a, const void *from, int order)
{
    begin_operation(a, size, true, RB_PC);
    (void)order;
    swap_values(size, a, from, NULL);
}

void rb_any_exchange(size_t size, volatile void *a, const void *from, void *to, int order)
{
    const bool rested = begin_operation(a, size, true, RB_PC);

    (void)order;
    swap_values(size, a, from, to);
    end_operation(a, rested, true);
}

bool rb_any_compare_exchange(size_t size, volatile void *a, void *expected, const void *from, int order,
                             int failed)
{
    const bool rested = begin_operation(a, size, true, RB_PC);

    (void)order;
    (void)failed;
    const bool done = compare_exchange(size, a, expected, from);
    end_operation(a, rested, true);
    return done;
}
