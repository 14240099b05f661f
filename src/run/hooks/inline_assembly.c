// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of inline assembly (docs/explanation/inline-assembly.md). The hooks of our compiler plugin come before and
// after an asm statement: before it the thread releases to the words of memory that it may write, after it it
// acquires those that it may read. No access is recorded: the statement counts as an atomic one.
//
// The statement is not in the runtime's hands, so its value and the clock of the word do not change together, as those
// of atomics do. Hence a word keeps its clock:
//   - A release joins, and marks the object (`joins`), so that stores of atomics join as well.
//   - A word that is only read has no such mark. At the first of them all stores begin to join (rb_stores_join), and all
//     that was recorded before is forgotten, as for a lost edge.
#include "run/access/access.h"
#include "run/core/upcalls.h"
#include "run/record/record.h"
#include "run/sync/sync.h"
#include "run/sync/sync_cache.h"

#define WORD          8u // bytes: parts of a lock that are written apart are one object
#define MOST_WORDS    8u
#define LEAST_ADDRESS 4096u

static char unknown_word; // its address stands for all that the compiler could not tell

// The C functions of the hooks: arch_hooks_x86_64.S.
RB_HIDDEN void rb_hooked_asm_release(uintptr_t address, uintptr_t size, uintptr_t pc);
RB_HIDDEN void rb_hooked_asm_acquire(uintptr_t address, uintptr_t size, uintptr_t pc);
RB_HIDDEN void rb_hooked_asm_fence(uintptr_t nothing, uintptr_t nothing_either, uintptr_t pc);

RB_EXPORT void __tsan_atomic_thread_fence(int order); // atomics.c

static RB_NOINLINE void release_to_object(struct rb_self *me, uintptr_t address)
{
    struct rb_known *k = rb_known_of(me, address);
    struct rb_object *o = rb_object_make(me, address);

    if (!o)
        return;
    const bool heard = k->address == address && k->object == o && k->version + 1 == o->version;
    rb_sync_release_join(me, &o->main);
    o->joins = true;
    rb_store_relaxed(&o->owner, RB_NO_SLOT); // several may have released: it has no owner
    rb_known_write(me, k, address, o, heard, true);
    rb_record_sync(me, RB_RMW_REL, address);
    rb_object_unlock(o);
}

static void release_word(struct rb_self *me, uintptr_t address)
{
    const struct rb_known *k = rb_known_of(me, address);

    if (rb_process.quick && k->address == address && k->object->joins && rb_known_covered(me, k)) {
        rb_known_skip_release(me);
        return;
    }
    rb_sync_begin(me);
    release_to_object(me, address);
    rb_sync_end(me);
}

// Lets atomic stores join from here on. Those before may have replaced a clock that this thread needs.
static RB_NOINLINE void begin_joins(struct rb_self *me)
{
    rb_store_release(&rb_stores_join, true);
    rb_lost_edge(me);
}

static RB_NOINLINE void acquire_from_object(struct rb_self *me, uintptr_t address)
{
    struct rb_object *o = rb_object_find(me, address);

    if (RB_UNLIKELY(!(o && o->joins) && !rb_load_relaxed(&rb_stores_join)))
        begin_joins(me);
    if (!o)
        return;
    rb_sync_acquire(me, &o->main);
    rb_known_write(me, rb_known_of(me, address), address, o, true, false);
    rb_record_sync(me, RB_LOAD, address);
    rb_object_unlock(o);
}

static void acquire_word(struct rb_self *me, uintptr_t address)
{
    if (rb_process.quick && rb_known_heard(rb_known_of(me, address), address)) {
        rb_known_skip_acquire(me);
        return;
    }
    rb_sync_begin(me);
    acquire_from_object(me, address);
    rb_sync_end(me);
}

// Returns true if there may be memory: pointers in registers may be numbers.
static bool may_be_memory(uintptr_t address)
{
    return address >= LEAST_ADDRESS && address < (uintptr_t)1 << 63;
}

// Visits the words that the operand touches, and its own address, by which atomics know it. Without a size the
// address is not known.
static void visit_words(uintptr_t address, uintptr_t size, void (*visit)(struct rb_self *me, uintptr_t word))
{
    if (!size)
        address = (uintptr_t)&unknown_word;
    struct rb_self *me = may_be_memory(address) ? rb_enter() : NULL;

    if (!me)
        return;
    if (!me->ignore_sync && !rb_is_of_mutex(me, address) && !rb_sync_passed_over(me, 0)) {
        const uintptr_t first = address & ~(uintptr_t)(WORD - 1), end = address + (size ? size : 1);
        if (address != first)
            visit(me, address);
        for (unsigned n = 0; n < MOST_WORDS && first + n * WORD < end; n++)
            visit(me, first + n * WORD);
    }
    rb_leave(me);
}

void rb_hooked_asm_release(uintptr_t address, uintptr_t size, uintptr_t pc)
{
    (void)pc;
    if (!rb_is_paused())
        visit_words(address, size, release_word);
}

void rb_hooked_asm_acquire(uintptr_t address, uintptr_t size, uintptr_t pc)
{
    (void)pc;
    if (!rb_is_paused())
        visit_words(address, size, acquire_word);
}

void rb_hooked_asm_fence(uintptr_t nothing, uintptr_t nothing_either, uintptr_t pc)
{
    (void)nothing;
    (void)nothing_either;
    (void)pc;
    __tsan_atomic_thread_fence(__ATOMIC_SEQ_CST);
}
