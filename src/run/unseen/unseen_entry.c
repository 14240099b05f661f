// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The first step of each call into an unseen library. Compiled without vector registers: they may hold
// arguments of the call, and the stub has not saved them.
//
// A thread remembers its outermost call: the place of the return address, and the return address. While the
// word there is unchanged the call may go on; calls and pushes of the caller change it after the return.
#include "run/sync/sync_cache.h"
#include "run/unseen/unseen.h"

int rb_unseen_vectors;

#define TIMED 1024u // one call of so many takes the slow path, for samplers that go by cost

// Returns true if the address is on the thread's own stack, which stays mapped.
RB_INLINE bool is_on_stack(const struct rb_self *me, uintptr_t address)
{
    return address >= me->walk.stack_lo && address < me->walk.stack_hi;
}

bool rb_unseen_is_left(const struct rb_self *me)
{
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0);

    if (!is_on_stack(me, here))
        return false;
    return me->unseen.entry < here ||
           (me->unseen.back && rb_unwind_load(me->unseen.entry) != me->unseen.back);
}

// A call from a stack that is not the thread's own may go on at any time.
void rb_unseen_note_entry(struct rb_self *me, uint32_t library, uintptr_t sp)
{
    const uint64_t bit = rb_unseen_bit(library);

    if (RB_UNLIKELY(!is_on_stack(me, sp))) {
        me->unseen.always |= bit;
    } else if (!(me->unseen.pending & ~me->unseen.always) || rb_unseen_is_left(me)) {
        me->unseen.entry = sp;
        me->unseen.back = rb_unwind_load(sp);
    }
    me->unseen.pending |= bit;
}

// A thread that pends already has come by a call, and pends until that returns. Else it has come by a
// pointer, and pends until its stack is shorter than in the library.
void rb_unseen_note_use(struct rb_self *me, uint32_t library, uintptr_t limit)
{
    const uint64_t bit = rb_unseen_bit(library);

    if (RB_UNLIKELY(!is_on_stack(me, limit))) {
        me->unseen.always |= bit;
    } else if (!(me->unseen.pending & ~me->unseen.always) || rb_unseen_is_left(me)) {
        me->unseen.entry = limit;
        me->unseen.back = 0;
    }
    me->unseen.pending |= bit;
}

// Returns true if no library that pends has something new for the thread. Those that share a bit are not
// asked.
static bool has_heard(struct rb_self *me)
{
    for (uint64_t set = me->unseen.pending; set; set &= set - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(set);
        const uintptr_t name = (uintptr_t)&rb_unseen_library[i].object;
        if (i == RB_UNSEEN_SHARED || !rb_known_heard(rb_known_of(me, name), name))
            return false;
    }
    return true;
}

// Returns true if the call has nothing to publish and nothing to acquire.
static bool has_nothing_new(struct rb_self *me, uint32_t library)
{
    const struct rb_known *k = rb_known_of(me, (uintptr_t)&rb_unseen_library[library].object);

    return rb_process.quick && !me->ignore_sync && has_heard(me) && rb_known_published(me, k);
}

bool rb_unseen_enter_quick(const struct rb_unseen_stub *stub, uintptr_t sp)
{
    struct rb_self *me = rb_self_tls;

    if (RB_UNLIKELY(!rb_process.on))
        return false;
    if (RB_UNLIKELY(!me || me->busy))
        return true;
    me->busy = 1; // a handler may call libraries as well
    __asm__ volatile("" ::: "memory");
    rb_unseen_note_entry(me, stub->library, sp);
    const bool enters =
        !rb_idle() && (++me->count.unseen_calls % TIMED == 0 || !has_nothing_new(me, stub->library));
    __asm__ volatile("" ::: "memory");
    me->busy = 0;
    return enters || me->deferred;
}

bool rb_unseen_quick(unsigned library, bool after)
{
    struct rb_self *me = rb_self_tls;
    const uint64_t bit = rb_unseen_bit(library);

    if (RB_UNLIKELY(!me || !rb_process.on))
        return !rb_process.on;
    const uintptr_t name = (uintptr_t)&rb_unseen_library[library].object;
    const struct rb_known *k = rb_known_of(me, name);
    if (!after)
        return rb_idle() || me->busy ||
               (rb_process.quick && !me->ignore_sync && !(me->unseen.pending & ~bit) && k->address == name &&
                rb_known_published(me, k));
    if (!(me->unseen.always & bit) && (!(me->unseen.pending & bit) || rb_unseen_is_left(me)))
        return me->busy != 0;
    return rb_idle() || me->busy || (rb_process.quick && rb_known_heard(k, name));
}
