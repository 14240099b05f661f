// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Order that libstdc++ makes by atomics in its own code, where no hook sees it.
#include "run/intercept/intercept.h"
#include "run/sync/sync.h"

// std::promise::set_value_at_thread_exit: libstdc++ makes the value ready when the thread has
// ended, by an atomic store without a hook. So the accesses of the thread until now are
// forgotten, and later ones are not recorded.
RB_INTERCEPT_LATE(void, _ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv, (void *ready))
{
    struct rb_self *me = rb_enter();

    if (me) {
        me->ignore_reads++;
        me->ignore_writes++;
        rb_lost_edge(me);
        rb_leave(me);
    }
    RB_REAL_LATE(_ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv)(ready);
}

// std::exception_ptr: libstdc++ counts the references to the exception, by atomics without a hook. The
// thread that drops the last reference destroys the exception, ordered after all others. References are
// dropped by holders of a pointer and by handlers that caught a rethrown exception. Each thread
// releases and acquires before it drops one. A thread that does so while another is inside cannot tell
// which drop is the last, and loses an edge.
static char exceptions; // the address is the sync object of all of them
static uint32_t dropping;
static RB_TLS bool has_rethrown;

static void begin_drop(void)
{
    const bool alone = rb_fetch_add_seq_cst(&dropping, 1) == 0;
    struct rb_self *me = rb_is_paused() ? NULL : rb_enter();

    if (!me)
        return;
    if (!alone)
        rb_lost_edge(me);
    rb_on_release(me, (uintptr_t)&exceptions);
    rb_on_acquire(me, (uintptr_t)&exceptions);
    rb_leave(me);
}

static void end_drop(void)
{
    rb_fetch_sub_seq_cst(&dropping, 1);
}

RB_INTERCEPT_LATE(void, _ZNSt15__exception_ptr13exception_ptr10_M_releaseEv, (void *pointer))
{
    begin_drop();
    RB_REAL_LATE(_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv)(pointer);
    end_drop();
}

RB_INTERCEPT_LATE(void, _ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE, (void *pointer))
{
    has_rethrown = true;
    RB_REAL_LATE(_ZSt17rethrow_exceptionNSt15__exception_ptr13exception_ptrE)(pointer);
}

RB_INTERCEPT_LATE(void, __cxa_end_catch, (void))
{
    if (!has_rethrown) {
        RB_REAL_LATE(__cxa_end_catch)();
        return;
    }
    begin_drop();
    RB_REAL_LATE(__cxa_end_catch)();
    end_drop();
}
