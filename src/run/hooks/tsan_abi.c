// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The hooks that compilers call for plain memory accesses under -fsanitize=thread: gcc
// 12, clang 14, clang 19. Each is the fast path of access.h. Atomics are in atomics.c,
// memcpy and the like in intercept_memory.c.
#include "run/access/access.h"
#include "run/core/upcalls.h"
#include "run/record/record.h"
#include "run/sites/sites.h"

// The section of hooks, so that calls of them can be told from others (sites.c).
#define RB_HOOK __attribute__((section("rb_hooks")))

// `aligned`: compilers call it for addresses that are multiples of the
// size. `both`: a read comes before the write.
#define RB_PLAIN(name, size, how, aligned, both)   \
    RB_HOOK RB_EXPORT void __tsan_##name(void *a); \
    RB_EXPORT void __tsan_##name(void *a)          \
    {                                              \
        rb_access(a, size, how, RB_PC);            \
    }
// Programs may define these themselves (kernel-style instrumentation of volatile), so ours are weak.
#define RB_VOLATILE(name, size, how, aligned)    \
    RB_HOOK RB_WEAK void __tsan_##name(void *a); \
    RB_WEAK void __tsan_##name(void *a)          \
    {                                            \
        rb_access(a, size, how, RB_PC);          \
    }
#define RB_WITH_PC(name, size, how)                  \
    RB_EXPORT void __tsan_##name(void *a, void *pc); \
    RB_EXPORT void __tsan_##name(void *a, void *pc)  \
    {                                                \
        rb_access(a, size, how, (uintptr_t)pc);      \
    }

#define RB_OF_SIZE(n)                                                \
    RB_PLAIN(read##n, n, RB_HOW_READ, true, false)                   \
    RB_PLAIN(write##n, n, RB_HOW_WRITE, true, false)                 \
    RB_PLAIN(unaligned_read##n, n, RB_HOW_READ, false, false)        \
    RB_PLAIN(unaligned_write##n, n, RB_HOW_WRITE, false, false)      \
    RB_PLAIN(read_write##n, n, RB_HOW_WRITE, true, true)             \
    RB_PLAIN(unaligned_read_write##n, n, RB_HOW_WRITE, false, true)  \
    RB_VOLATILE(volatile_read##n, n, RB_HOW_READ, true)              \
    RB_VOLATILE(volatile_write##n, n, RB_HOW_WRITE, true)            \
    RB_VOLATILE(unaligned_volatile_read##n, n, RB_HOW_READ, false)   \
    RB_VOLATILE(unaligned_volatile_write##n, n, RB_HOW_WRITE, false) \
    RB_WITH_PC(read##n##_pc, n, RB_HOW_READ)                         \
    RB_WITH_PC(write##n##_pc, n, RB_HOW_WRITE)
#define RB_ALL_SIZES RB_OF_SIZE(1) RB_OF_SIZE(2) RB_OF_SIZE(4) RB_OF_SIZE(8) RB_OF_SIZE(16)
RB_ALL_SIZES

// The same for our compiler plugin (arch_hooks_x86_64.S).
#define RB_PRESERVING(n)                        \
    RB_EXPORT void __railbird_read##n(void *a); \
    RB_EXPORT void __railbird_write##n(void *a);
RB_PRESERVING(1)
RB_PRESERVING(2)
RB_PRESERVING(4)
RB_PRESERVING(8)
RB_PRESERVING(16)

// The table of all hooks, for the look-up of a call found in the code (watchpoints.c).
#undef RB_PLAIN
#undef RB_VOLATILE
#undef RB_WITH_PC
#define RB_PLAIN(name, size, how, aligned, both) \
    {__tsan_##name, size, (how) == RB_HOW_READ || (both), (how) == RB_HOW_WRITE, aligned},
#define RB_VOLATILE(name, size, how, aligned) RB_PLAIN(name, size, how, aligned, false)
#define RB_WITH_PC(name, size, how)
#undef RB_PRESERVING
#define RB_PRESERVING(n) \
    {__railbird_read##n, n, true, false, true}, {__railbird_write##n, n, false, true, true},
static const struct rb_hook hooks[] = {RB_ALL_SIZES RB_PRESERVING(1) RB_PRESERVING(2) RB_PRESERVING(4)
                                           RB_PRESERVING(8) RB_PRESERVING(16)};

const struct rb_hook *rb_hook_at(uintptr_t address)
{
    for (unsigned i = 0; i < RB_LENGTH(hooks); i++)
        if ((uintptr_t)hooks[i].function == address)
            return &hooks[i];
    return NULL;
}

#define RB_RANGE(name, how)                                            \
    RB_HOOK RB_EXPORT void __tsan_##name(void *a, size_t size);        \
    RB_EXPORT void __tsan_##name(void *a, size_t size)                 \
    {                                                                  \
        rb_access(a, size, how, RB_PC);                                \
    }                                                                  \
    RB_EXPORT void __tsan_##name##_pc(void *a, size_t size, void *pc); \
    RB_EXPORT void __tsan_##name##_pc(void *a, size_t size, void *pc)  \
    {                                                                  \
        rb_access(a, size, how, (uintptr_t)pc);                        \
    }
RB_RANGE(read_range, RB_HOW_READ)
RB_RANGE(write_range, RB_HOW_WRITE)

// A virtual table pointer. Constructors and destructors often write the value
// that is there already, which is not checked.
RB_HOOK RB_EXPORT void __tsan_vptr_update(void **vptr, void *value);
RB_EXPORT void __tsan_vptr_update(void **vptr, void *value)
{
    if (rb_load_relaxed(vptr) != value)
        rb_access(vptr, sizeof(*vptr), RB_HOW_WRITE, RB_PC);
}

RB_HOOK RB_EXPORT void __tsan_vptr_read(void **vptr);
RB_EXPORT void __tsan_vptr_read(void **vptr)
{
    rb_access(vptr, sizeof(*vptr), RB_HOW_READ, RB_PC);
}

// Stacks are walked when they are needed (stack.c). So entries and exits are passed on only to
// samplers that use them and to the recorder. Else the calls are patched out; calls that cannot be
// patched take the slow path once in a while.
#define OFTEN_ENOUGH 4096
static RB_TLS int32_t functions_skip;

static RB_NOINLINE void skip_function(uintptr_t pc)
{
    struct rb_self *me;

    functions_skip = OFTEN_ENOUGH;
    if (!rb_sites_on || !(me = rb_enter()))
        return;
    if (rb_site_sleep(me, rb_site_at(me, pc)))
        functions_skip = 0;
    rb_leave(me);
}

RB_INLINE void enter_function(uintptr_t caller, uintptr_t pc)
{
    if (RB_UNLIKELY(rb_functions_wanted)) {
        rb_sampling_enter(caller, pc);
        rb_record_function(RB_ENTER, pc);
    } else if (--functions_skip < 0) {
        skip_function(pc);
    }
}

RB_INLINE void exit_function(uintptr_t pc)
{
    if (RB_UNLIKELY(rb_functions_wanted)) {
        rb_sampling_exit();
        rb_record_function(RB_EXIT, 0);
    } else if (--functions_skip < 0) {
        skip_function(pc);
    }
}

RB_HOOK RB_EXPORT void __tsan_func_entry(void *caller);
RB_EXPORT void __tsan_func_entry(void *caller)
{
    enter_function((uintptr_t)caller, RB_PC);
}

RB_HOOK RB_EXPORT void __tsan_func_exit(void);
RB_EXPORT void __tsan_func_exit(void)
{
    exit_function(RB_PC);
}

// The C function of the hooks that preserve registers, called for an access
// that is not skipped: arch_hooks_x86_64.S.
RB_HIDDEN void rb_hooked_access(uintptr_t address, uintptr_t sized, uintptr_t pc);
void rb_hooked_access(uintptr_t address, uintptr_t sized, uintptr_t pc)
{
    rb_access_slow(address, sized / RB_SIZED(1, 0), sized & RB_SIZED_HOW, pc);
}

RB_HIDDEN void rb_hooked_read_range(uintptr_t address, uintptr_t size, uintptr_t pc);
void rb_hooked_read_range(uintptr_t address, uintptr_t size, uintptr_t pc)
{
    rb_access_slow(address, size, RB_HOW_READ, pc);
}

RB_HIDDEN void rb_hooked_write_range(uintptr_t address, uintptr_t size, uintptr_t pc);
void rb_hooked_write_range(uintptr_t address, uintptr_t size, uintptr_t pc)
{
    rb_access_slow(address, size, RB_HOW_WRITE, pc);
}

RB_HIDDEN void rb_hooked_entry(uintptr_t caller, uintptr_t nothing, uintptr_t pc);
void rb_hooked_entry(uintptr_t caller, uintptr_t nothing, uintptr_t pc)
{
    (void)nothing;
    enter_function(caller, pc);
}

RB_HIDDEN void rb_hooked_exit(uintptr_t nothing, uintptr_t nothing_either, uintptr_t pc);
void rb_hooked_exit(uintptr_t nothing, uintptr_t nothing_either, uintptr_t pc)
{
    (void)nothing;
    (void)nothing_either;
    exit_function(pc);
}

RB_EXPORT void __tsan_ignore_thread_begin(void);
RB_EXPORT void __tsan_ignore_thread_begin(void)
{
    struct rb_self *me = rb_enter();

    if (!me)
        return;
    me->ignore_reads++;
    me->ignore_writes++;
    rb_leave(me);
}

RB_EXPORT void __tsan_ignore_thread_end(void);
RB_EXPORT void __tsan_ignore_thread_end(void)
{
    struct rb_self *me = rb_enter();

    if (!me)
        return;
    me->ignore_reads -= me->ignore_reads > 0;
    me->ignore_writes -= me->ignore_writes > 0;
    rb_leave(me);
}
