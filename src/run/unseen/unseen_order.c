// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Order through unseen libraries (unseen.h): releases at entry, acquires afterwards, callbacks.
//
// The lock of a library's object is the innermost of all: nothing else is locked under it. So it may be
// taken under an object's lock, where releases are made.
#include <errno.h>
#include <sys/mman.h>

#include "base/pages.h"
#include "run/intercept/callers.h"
#include "run/record/record.h"
#include "run/sync/sync.h"
#include "run/sync/sync_cache.h"
#include "run/unseen/unseen.h"

// ---- acquire -------------------------------------------------------------------------------------------

static void acquire_library(struct rb_self *me, struct rb_unseen_library *l)
{
    const uintptr_t name = (uintptr_t)&l->object;
    struct rb_known *k = rb_known_of(me, name);

    if (rb_process.quick && rb_known_heard(k, name))
        return;
    rb_spin_lock(&l->object.lock);
    rb_sync_acquire(me, &l->object.main);
    rb_known_write(me, k, name, &l->object, true, false);
    rb_record_sync(me, RB_WAIT, name);
    rb_spin_unlock(&l->object.lock);
    me->count.unseen_acquires++;
}

static void acquire_set(struct rb_self *me, uint64_t set)
{
    const uint32_t count = rb_load_acquire(&rb_unseen_count);

    for (; set; set &= set - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(set);
        acquire_library(me, &rb_unseen_library[i]);
        for (i++; i > RB_UNSEEN_SHARED && i < count; i++)
            acquire_library(me, &rb_unseen_library[i]);
    }
}

void rb_unseen_settle(struct rb_self *me)
{
    const uint64_t pending = me->unseen.pending;

    if (me->ignore_sync)
        return;
    me->unseen.pending = rb_unseen_is_left(me) ? me->unseen.always : pending;
    acquire_set(me, pending);
}

// ---- release -------------------------------------------------------------------------------------------

void rb_unseen_release(struct rb_self *me, uint32_t library)
{
    struct rb_object *o = &rb_unseen_library[library].object;
    const uint64_t pending = me->unseen.pending;

    if (me->ignore_sync || rb_sync_passed_over(me, 0))
        return;
    rb_sync_begin(me);
    me->unseen.pending = 0; // else the release below would acquire, under the object's lock
    acquire_set(me, pending & ~rb_unseen_bit(library));
    rb_spin_lock(&o->lock);
    rb_sync_acquire(me, &o->main);
    rb_object_changes(o);
    rb_sync_release_join(me, &o->main);
    rb_known_write(me, rb_known_of(me, (uintptr_t)o), (uintptr_t)o, o, true, true);
    rb_record_sync(me, RB_POST, (uintptr_t)o);
    rb_spin_unlock(&o->lock);
    me->unseen.pending = pending;
    rb_sync_end(me);
}

// Called by a stub, with all registers saved.
void rb_unseen_enter(const struct rb_unseen_stub *stub, uintptr_t sp)
{
    const int saved = errno;
    struct rb_self *me = rb_enter();

    if (me) {
        rb_unseen_note_entry(me, stub->library, sp); // if the thread had no state before
        rb_unseen_release(me, stub->library);
        rb_leave(me);
    }
    errno = saved;
}

// ---- stacks --------------------------------------------------------------------------------------------
// A stack is a number for good, so the libraries in it are found once. A mark of each stack is the number
// of a set of libraries, or one of two values.

enum { UNKNOWN, CLEAR = RB_UNSEEN_CLEAR, FIRST_SET };
#define SETS (255u - FIRST_SET) // different ones; with more, a stack has all libraries

uint8_t *rb_unseen_marks;
static size_t mark_bytes;
static uint64_t sets[SETS];
static uint32_t set_count;
static rb_spin sets_lock;
static uint32_t list_version;
static uint32_t created; // a thread was created, in this process

static void clear_marks(void)
{
    const uint32_t count = rb_stack_count();

    if (!rb_host.sandboxed && syscall(SYS_madvise, rb_unseen_marks, mark_bytes, MADV_DONTNEED) == 0)
        return;
    for (uint32_t i = 0; i <= count; i++)
        rb_store_relaxed(&rb_unseen_marks[i], UNKNOWN);
}

void rb_unseen_list_changed(void)
{
    rb_fetch_add_acq_rel(&list_version, 1);
    if (rb_unseen_marks) {
        clear_marks();
    } else if (rb_unseen_count && !rb_host.sandboxed) {
        mark_bytes = rb_stack_room();
        rb_store_release(&rb_unseen_marks, rb_pages_map(mark_bytes));
    }
}

void rb_unseen_reset_after_fork(void)
{
    sets_lock = 0;
    rb_unseen_list_reset();
    created = 0;
    for (uint32_t i = 0; i < rb_unseen_count; i++)
        rb_unseen_library[i].object = (struct rb_object){.address = rb_unseen_library[i].object.address};
    if (rb_unseen_count)
        rb_unseen_list_changed();
}

static uint64_t find_libraries(rb_stack stack)
{
    uintptr_t pcs[RB_STACK_DEPTH];
    const unsigned n = rb_stack_frames(stack, pcs, RB_STACK_DEPTH);
    uint64_t set = 0;

    for (unsigned i = 0; i < n; i++) {
        const uint32_t library = rb_unseen_find(pcs[i] - 1);
        if (library != RB_UNSEEN_NONE)
            set |= rb_unseen_bit(library);
    }
    return set;
}

// Returns the mark of the set: a new one if need be.
static uint8_t number_set(uint64_t set)
{
    uint32_t i = 0;

    if (!set)
        return CLEAR;
    rb_spin_lock(&sets_lock);
    while (i < set_count && sets[i] != set)
        i++;
    if (i == set_count && set_count < SETS)
        sets[set_count++] = set;
    rb_spin_unlock(&sets_lock);
    return (uint8_t)(FIRST_SET + i);
}

static uint8_t mark_stack(rb_stack stack)
{
    const uint32_t version = rb_load_acquire(&list_version);
    const uint8_t mark = number_set(find_libraries(stack));

    rb_store_relaxed(&rb_unseen_marks[stack], mark);
    if (rb_load_acquire(&list_version) != version)
        rb_store_relaxed(&rb_unseen_marks[stack], UNKNOWN);
    return mark;
}

void rb_unseen_callback(struct rb_self *me, rb_stack stack)
{
    const uint8_t known = rb_load_relaxed(&rb_unseen_marks[stack]);
    const uint8_t mark = known == UNKNOWN ? mark_stack(stack) : known;

    if (mark >= FIRST_SET && !me->ignore_sync)
        acquire_set(me, mark - FIRST_SET < (int)SETS ? sets[mark - FIRST_SET] : ~UINT64_C(0));
}

// ---- threads -------------------------------------------------------------------------------------------

// Returns the set of the library that made a call, if the innermost frames, without those of exempt
// libraries, are its own.
static uint64_t find_caller(rb_stack stack)
{
    uintptr_t pcs[RB_STACK_DEPTH];
    const unsigned n = rb_stack_frames(stack, pcs, RB_STACK_DEPTH);

    for (unsigned i = 0; i < n; i++) {
        const uint32_t library = rb_unseen_find(pcs[i] - 1);
        if (library != RB_UNSEEN_NONE)
            return rb_unseen_bit(library);
        if (rb_is_in_hooked_file(pcs[i] - 1))
            return 0;
    }
    return 0;
}

// Finds calls into libraries that the thread made before calls were followed: its last walk shows them.
static void note_calls_before(struct rb_self *me)
{
    const struct rb_walk *w = &me->walk;
    uint64_t set = 0;

    for (unsigned i = w->frames; i-- > 0;) {
        const uint32_t library = rb_unseen_find(w->frame[i].at.pc - 1);
        if (library == RB_UNSEEN_NONE)
            continue;
        set |= rb_unseen_bit(library);
        me->unseen.entry = i ? w->frame[i - 1].at.sp - sizeof(uintptr_t) : 0;
        me->unseen.back = i ? w->frame[i - 1].at.pc : 0;
    }
    if (set && !me->unseen.entry)
        me->unseen.always |= set;
    me->unseen.pending |= set;
}

void rb_unseen_creates(struct rb_self *me, struct rb_self *child, rb_stack stack)
{
    if (!rb_load_relaxed(&rb_unseen_count))
        return;
    if (!rb_exchange_relaxed(&created, 1))
        note_calls_before(me);
    if (child)
        child->unseen.always = child->unseen.pending = find_caller(stack);
}

// ---- atomic instructions -------------------------------------------------------------------------------

#define SAVED_BYTES 16384u // of stack at most, between the library's frame and ours

void rb_unseen_before(unsigned library, uintptr_t address)
{
    const int saved = errno;
    struct rb_self *me = rb_idle() || rb_unseen_quick(library, false) ? NULL : rb_enter();

    (void)address;
    if (me) {
        rb_unseen_release(me, library);
        rb_leave(me);
    }
    errno = saved;
}

void rb_unseen_after(unsigned library, uintptr_t address)
{
    const int saved = errno;
    struct rb_self *me = rb_unseen_quick(library, true) ? NULL : rb_enter();

    (void)address;
    if (me) {
        rb_unseen_note_use(me, library, (uintptr_t)__builtin_frame_address(0) + SAVED_BYTES);
        if (!rb_idle() && !me->ignore_sync)
            acquire_library(me, &rb_unseen_library[library]);
        rb_leave(me);
    }
    errno = saved;
}
