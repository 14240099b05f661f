// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The remaining functions of TSan's runtime: functions of its tests, external objects, unaligned accesses,
// older annotations, settings. Reports and memory are in tsan_report.c, the heap in tsan_heap.c, Java in
// tsan_java.c, system calls in tsan_syscalls.c.
//
// Hooks of coverage do nothing (coverage.c). Functions of other tools are left
// out: __sanitizer_weak_hook_* and the like.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inproc/tool.h"
#include "run/access/access.h"
#include "run/core/upcalls.h"
#include "run/intercept/lifecycle.h"
#include "run/report/race.h"
#include "run/sync/sync.h"

// ---- functions of TSan's tests -------------------------------------------------------------------------

// A barrier that no detector sees. All its state is one word of 32 bits, as tests have
// no more room for it: the number of parties, the number that have arrived in this
// round, and the number of rounds that are over.
#define PARTY_BITS 10u
#define ONE_MORE   (1u << PARTY_BITS)
#define ONE_ROUND  (1u << 2 * PARTY_BITS)

RB_EXPORT void __tsan_testonly_barrier_init(uint32_t *barrier, uint32_t parties);
RB_EXPORT void __tsan_testonly_barrier_init(uint32_t *barrier, uint32_t parties)
{
    rb_store_release(barrier, parties & (ONE_MORE - 1));
}

RB_EXPORT void __tsan_testonly_barrier_wait(uint32_t *barrier);
RB_EXPORT void __tsan_testonly_barrier_wait(uint32_t *barrier)
{
    uint32_t before = rb_load_relaxed(barrier), now;
    bool last;

    do {
        const uint32_t parties = before & (ONE_MORE - 1), arrived = (before / ONE_MORE & (ONE_MORE - 1)) + 1;
        last = arrived >= parties;
        now = last ? (before & -ONE_ROUND) + ONE_ROUND + parties : before + ONE_MORE;
    } while (!rb_cas_strong_acq_rel(barrier, &before, now));
    if (last) {
        syscall(SYS_futex, barrier, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
        return;
    }
    while (now / ONE_ROUND == before / ONE_ROUND) {
        syscall(SYS_futex, barrier, FUTEX_WAIT_PRIVATE, now, NULL, NULL, 0);
        now = rb_load_acquire(barrier);
    }
}

RB_EXPORT uintptr_t __tsan_testonly_shadow_stack_current_size(void);
RB_EXPORT uintptr_t __tsan_testonly_shadow_stack_current_size(void)
{
    struct rb_self *me = rb_enter();
    uintptr_t pcs[RB_STACK_DEPTH];
    unsigned n;

    if (!me)
        return 0;
    n = rb_stack_frames(rb_stack_here(&me->walk, RB_PC, RB_STACK_DEPTH), pcs, RB_STACK_DEPTH);
    rb_leave(me);
    return n;
}

// ---- objects of libraries that are not instrumented ----------------------------------------------------

// A library announces reads and changes of its objects. The names of objects are kept to
// tell them apart, and do not show in reports.

#define TAGS 128u
static uint32_t tags = 1;

RB_EXPORT void *__tsan_external_register_tag(const char *type);
RB_EXPORT void *__tsan_external_register_tag(const char *type)
{
    const uint32_t tag = rb_fetch_add_relaxed(&tags, 1);

    (void)type;
    return (void *)(uintptr_t)(tag < TAGS ? tag : TAGS);
}

RB_EXPORT void __tsan_external_register_header(void *tag, const char *header);
RB_EXPORT void __tsan_external_register_header(void *tag, const char *header)
{
    (void)tag, (void)header;
}

RB_EXPORT void __tsan_external_assign_tag(void *address, void *tag);
RB_EXPORT void __tsan_external_assign_tag(void *address, void *tag)
{
    (void)address, (void)tag;
}

RB_EXPORT void __tsan_external_read(void *address, void *caller, void *tag);
RB_EXPORT void __tsan_external_read(void *address, void *caller, void *tag)
{
    (void)tag, (void)caller;
    rb_access(address, 1, RB_HOW_READ, RB_PC);
}

RB_EXPORT void __tsan_external_write(void *address, void *caller, void *tag);
RB_EXPORT void __tsan_external_write(void *address, void *caller, void *tag)
{
    (void)tag, (void)caller;
    rb_access(address, 1, RB_HOW_WRITE, RB_PC);
}

// ---- unaligned accesses: made here ---------------------------------------------------------------------

#define RB_UNALIGNED(bits)                                                          \
    RB_WEAK uint##bits##_t __sanitizer_unaligned_load##bits(const void *from);      \
    RB_WEAK uint##bits##_t __sanitizer_unaligned_load##bits(const void *from)       \
    {                                                                               \
        uint##bits##_t value;                                                       \
        rb_access(from, sizeof(value), RB_HOW_READ, RB_PC);                         \
        __builtin_memcpy(&value, from, sizeof(value));                              \
        return value;                                                               \
    }                                                                               \
    RB_WEAK void __sanitizer_unaligned_store##bits(void *to, uint##bits##_t value); \
    RB_WEAK void __sanitizer_unaligned_store##bits(void *to, uint##bits##_t value)  \
    {                                                                               \
        rb_access(to, sizeof(value), RB_HOW_WRITE, RB_PC);                          \
        __builtin_memcpy(to, &value, sizeof(value));                                \
    }
RB_UNALIGNED(16)
RB_UNALIGNED(32)
RB_UNALIGNED(64)

// ---- older annotations ---------------------------------------------------------------------------------

#define RB_ORDERS(name, params, verb, object) \
    RB_EXPORT void name params;               \
    RB_EXPORT void name params                \
    {                                         \
        struct rb_self *me = rb_enter();      \
        (void)file, (void)line;               \
        if (!me)                              \
            return;                           \
        verb(me, (uintptr_t)object);          \
        rb_leave(me);                         \
    }
#define PLACE const char *file, int line
RB_ORDERS(WTFAnnotateHappensBefore, (PLACE, uintptr_t a), rb_on_release, a)
RB_ORDERS(WTFAnnotateHappensAfter, (PLACE, uintptr_t a), rb_on_acquire, a)
RB_ORDERS(AnnotateCondVarSignal, (PLACE, uintptr_t c), rb_on_release, c)
RB_ORDERS(AnnotateCondVarSignalAll, (PLACE, uintptr_t c), rb_on_release, c)
RB_ORDERS(AnnotateCondVarWait, (PLACE, uintptr_t c, uintptr_t lock), ((void)lock, rb_on_acquire), c)
RB_ORDERS(AnnotatePCQPut, (PLACE, uintptr_t queue), rb_on_release, queue)
RB_ORDERS(AnnotatePCQGet, (PLACE, uintptr_t queue), rb_on_acquire, queue)

// These say nothing about order, or configure detectors of another kind. TSan accepts and ignores them, and
// so do we. Further arguments are the caller's affair.
#define RB_TAKEN(name)          \
    RB_EXPORT void name(PLACE); \
    RB_EXPORT void name(PLACE)  \
    {                           \
        (void)file, (void)line; \
    }
RB_TAKEN(AnnotatePCQCreate)
RB_TAKEN(AnnotatePCQDestroy)
RB_TAKEN(AnnotateMutexIsNotPHB)
RB_TAKEN(AnnotateMutexIsUsedAsCondVar)
RB_TAKEN(AnnotatePublishMemoryRange)
RB_TAKEN(AnnotateUnpublishMemoryRange)
RB_TAKEN(AnnotateMemoryIsInitialized)
RB_TAKEN(AnnotateMemoryIsUninitialized)
RB_TAKEN(AnnotateTraceMemory)
RB_TAKEN(AnnotateExpectRace)
RB_TAKEN(AnnotateFlushExpectedRaces)
RB_TAKEN(AnnotateFlushState)
RB_TAKEN(AnnotateEnableRaceDetection)
RB_TAKEN(AnnotateNoOp)

RB_EXPORT const char *ThreadSanitizerQuery(const char *query);
RB_EXPORT const char *ThreadSanitizerQuery(const char *query)
{
    const char *known = "pure_happens_before";

    while (*known && *known == *query)
        known++, query++;
    return *known == *query ? "1" : "0";
}

RB_EXPORT double ValgrindSlowdown(void);
RB_EXPORT double ValgrindSlowdown(void)
{
    return 1; // the factor for the time limits of programs
}

// The mutexes that a thread holds are not kept: only races are reported.
RB_EXPORT void __tsan_check_no_mutexes_held(void);
RB_EXPORT void __tsan_check_no_mutexes_held(void)
{
}

// There is no memory that only the thread itself could free.
RB_EXPORT void __tsan_on_thread_idle(void);
RB_EXPORT void __tsan_on_thread_idle(void)
{
}

// ---- functions of the program at start and end ---------------------------------------------------------

extern void __tsan_on_initialize(void) __attribute__((weak));

static __attribute__((constructor(102))) void on_initialize(void)
{
    if (__tsan_on_initialize && rb_process.on)
        __tsan_on_initialize();
}

void (*rb_death_callback)(void);

RB_WEAK void __sanitizer_set_death_callback(void (*callback)(void));
RB_WEAK void __sanitizer_set_death_callback(void (*callback)(void))
{
    rb_death_callback = callback;
}

// For programs with a crash reporter of their own: returns true to the
// first of all threads that crash at once.
RB_WEAK int __sanitizer_acquire_crash_state(void);
RB_WEAK int __sanitizer_acquire_crash_state(void)
{
    static bool taken;

    return !rb_exchange_relaxed(&taken, true);
}

// The program announces that it is about to confine itself.
RB_WEAK void __sanitizer_sandbox_on_notify(void *arguments);
RB_WEAK void __sanitizer_sandbox_on_notify(void *arguments)
{
    (void)arguments;
    rb_sandbox_begins();
}

// ---- where reports go ----------------------------------------------------------------------------------

static bool is_equal(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

RB_WEAK void __sanitizer_set_report_path(const char *path);
RB_WEAK void __sanitizer_set_report_path(const char *path)
{
    const bool named = path && !is_equal(path, "stderr") && !is_equal(path, "stdout");
    size_t i = 0;

    rb_report_fd = path && is_equal(path, "stdout") ? 1 : 2;
    for (; named && i + 1 < sizeof(rb_options.log_path) && path[i]; i++)
        rb_options.log_path[i] = path[i];
    rb_options.log_path[i] = 0;
}

RB_WEAK void __sanitizer_set_report_fd(void *fd);
RB_WEAK void __sanitizer_set_report_fd(void *fd)
{
    rb_report_fd = (int)(intptr_t)fd;
    rb_options.log_path[0] = 0;
}

RB_WEAK const char *__sanitizer_get_report_path(void);
RB_WEAK const char *__sanitizer_get_report_path(void)
{
    return rb_options.log_path[0] ? rb_options.log_path : rb_report_fd == 1 ? "stdout" : "stderr";
}
