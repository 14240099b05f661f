// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The interceptors that are generated from their rows, and the look-up of the real functions.
#include "run/intercept/intercept.h"

#include "inproc/modules.h"
#include "run/core/upcalls.h"
#include "run/intercept/callers.h"
#include "run/intercept/heap.h"
#include "run/intercept/signals/signals.h"
#include "run/sites/sites.h"
#include "run/sync/sync.h"
#include "run/sync/sync_cache.h"
#include "run/sync/thread.h"

static void rb_thread_named(pthread_t handle, const char *name)
{
    const struct rb_self *t = rb_thread_by_handle(handle);

    if (t)
        rb_thread_name(t->id, name);
}

static void rb_signals_pend(struct rb_self *me, const sigset_t *set)
{
    for (int number = 1; number < NSIG; number++)
        if (sigismember(set, number) == 1)
            rb_signal_came(me, number);
}

// Releases to the handlers of the fault: they run after everything before the call.
static void rb_pages_protected(struct rb_self *me, uintptr_t address, size_t size)
{
    rb_on_release(me, rb_signal_object(SIGSEGV));
    rb_on_release(me, rb_signal_object(SIGBUS));
    rb_sites_freeze(address, address + size);
}

// Numbers that libc or the kernel gives out again: keys. The program
// has no memory that they could be known by.
#define RB_KEYS (PTHREAD_KEYS_MAX + 2)
static char keys[RB_KEYS];

static uintptr_t rb_key(unsigned key)
{
    return (uintptr_t)&keys[key % RB_KEYS];
}

// Pauses the reporter, which a wait for children of all kinds would take for a child.
static void rb_wait_begins(int flags)
{
    if (flags & (__WALL | __WCLONE))
        rb_races_pause();
}

#define RB_AFTER(ret, name, params, args, done, after) \
    RB_INTERCEPT(ret, name, params)                    \
    {                                                  \
        ret r = RB_REAL(name) args;                    \
        if (done)                                      \
            RB_BESIDE((void)0, after);                 \
        return r;                                      \
    }
#define RB_BEFORE(ret, name, params, args, before) \
    RB_INTERCEPT(ret, name, params)                \
    {                                              \
        RB_BESIDE((void)0, before);                \
        return RB_REAL(name) args;                 \
    }
#define RB_AROUND(ret, name, params, args, before, done, after) \
    RB_INTERCEPT(ret, name, params)                             \
    {                                                           \
        RB_BESIDE((void)0, before);                             \
        ret r = RB_REAL(name) args;                             \
        if (done)                                               \
            RB_BESIDE((void)0, after);                          \
        return r;                                               \
    }
// The first byte of an object stands for the whole object as memory, as in TSan. It is
// checked before the acquire, which would order it with the making of the lock.
// Unlocking adds nothing to the check of locking.
//
// Returns true for the first uses of an object by this thread, then for one of 64. Checking all uses of a
// lock would cost more than the lock. A word holds the address's 48 bits and the number of uses.
static bool is_sampled_use(const volatile void *object)
{
    struct rb_self *me = rb_self_get();

    if (!me)
        return false;
    uint64_t *word = &me->uses[rb_hash((uintptr_t)object, 7)];
    uint64_t seen = *word;

    if (seen >> 16 != ((uintptr_t)object & 0xffffffffffffu))
        seen = (uint64_t)(uintptr_t)object << 16;
    const uint16_t times = (uint16_t)(seen + 1);
    *word = (seen & ~(uint64_t)0xffff) | times;
    return times <= 8 || times % 64 == 0;
}

#define USED_AT(object, pc) (is_sampled_use(object) ? RB_TOUCH_AT(RB_HOW_ATOMIC, object, 1, pc) : (void)0)
#define USED(object)        USED_AT(object, RB_PC)
#define MADE(object)        WRITE(object, 1)
#define RB_TAKES(ret, name, params, args, done, touch, after) \
    RB_INTERCEPT(ret, name, params)                           \
    {                                                         \
        ret r = RB_REAL(name) args;                           \
        if (!rb_is_paused() && (done))                        \
            RB_BESIDE(touch, after);                          \
        return r;                                             \
    }
#define RB_GIVES(ret, name, params, args, touch, before) \
    RB_INTERCEPT(ret, name, params)                      \
    {                                                    \
        if (!rb_is_paused())                             \
            RB_BESIDE(touch, before);                    \
        return RB_REAL(name) args;                       \
    }
// A function apart: while tracking is paused a lock costs one load and one comparison more, and saves no
// registers for work that is not done.
#define RB_LOCKS(name, params, args, object, done, quick, after)                 \
    static RB_NOINLINE void followed_##name(int r, uintptr_t pc, RB_LIST params) \
    {                                                                            \
        if ((r != 0 || !rb_quick(quick, (uintptr_t)(object))) && (done))         \
            RB_BESIDE(USED_AT(object, pc), after);                               \
    }                                                                            \
    RB_INTERCEPT(int, name, params)                                              \
    {                                                                            \
        const int r = RB_REAL(name) args;                                        \
        if (!rb_is_paused())                                                     \
            followed_##name(r, RB_PC, RB_LIST args);                             \
        return r;                                                                \
    }
#define RB_UNLOCKS(name, params, args, object, quick, before)          \
    static RB_NOINLINE int followed_##name params                      \
    {                                                                  \
        if (!rb_is_paused() && !rb_quick(quick, (uintptr_t)(object)))  \
            RB_BESIDE((void)0, before);                                \
        return RB_REAL(name) args;                                     \
    }                                                                  \
    RB_INTERCEPT(int, name, params)                                    \
    {                                                                  \
        return rb_idle() ? RB_FOUND(name) args : followed_##name args; \
    }
#define RB_LIST(...) __VA_ARGS__
#define RB_ODD(ret, name, params)
#pragma GCC diagnostic ignored "-Wpedantic" // mtx_destroy returns nothing, by `return`
#include "run/intercept/intercept.def"
#undef RB_BEFORE
#undef RB_AFTER
#undef RB_AROUND
#undef RB_TAKES
#undef RB_GIVES
#undef RB_LOCKS
#undef RB_UNLOCKS
#undef RB_ODD

#if !defined(RB_STATIC)
struct rb_real rb_real;

// Functions that changed their layout: the look-up without a version may find the old one.
static const struct {
    const char *name, *version;
} versioned[] = {{"pthread_cond_wait", "GLIBC_2.3.2"},   {"pthread_cond_timedwait", "GLIBC_2.3.2"},
                 {"pthread_cond_init", "GLIBC_2.3.2"},   {"pthread_cond_destroy", "GLIBC_2.3.2"},
                 {"pthread_cond_signal", "GLIBC_2.3.2"}, {"pthread_cond_broadcast", "GLIBC_2.3.2"}};

// Returns the first definition behind `where` in the order of loading.
static void *find_from(void *where, const char *name)
{
    void *found = NULL;

    for (unsigned i = 0; i < RB_LENGTH(versioned) && !found; i++)
        if (!__builtin_strcmp(versioned[i].name, name))
            found = dlvsym(where, name, versioned[i].version);
    return found ? found : dlsym(where, name);
}

// The program may define a function or two of these itself, so several are asked.
bool rb_real_is_behind(void)
{
    return dlsym(RTLD_DEFAULT, "pthread_create") != RB_REAL(pthread_create) &&
           dlsym(RTLD_DEFAULT, "pthread_mutex_lock") != RB_REAL(pthread_mutex_lock) &&
           dlsym(RTLD_DEFAULT, "sem_post") != RB_REAL(sem_post);
}

// Where libc comes before the runtime, its functions are found from the front; they are never ours.
void *rb_real_find(void **slot, const char *name)
{
    const int saved = errno;
    void *found = find_from(RTLD_NEXT, name);

    if (!found && (found = find_from(RTLD_DEFAULT, name)) &&
        rb_module_is_same((uintptr_t)found, (uintptr_t)&rb_real))
        found = NULL;
    rb_store_relaxed(slot, found);
    errno = saved;
    return found;
}
#else
bool rb_real_is_behind(void)
{
    return true;
}
#endif

// The heap comes first: looking up the others may use it.
void rb_real_init(void)
{
#if !defined(RB_STATIC)
    rb_heap_find_real();
#define RB_BEFORE(ret, name, params, args, before)     rb_real_find((void **)(void *)&rb_real.name, #name);
#define RB_AFTER(ret, name, params, args, done, after) rb_real_find((void **)(void *)&rb_real.name, #name);
#define RB_ODD(ret, name, params)                      rb_real_find((void **)(void *)&rb_real.name, #name);
#define RB_LATE(ret, name, params)
#include "base/types.h"
#include "run/intercept/intercept.def"
#undef RB_BEFORE
#undef RB_AFTER
#undef RB_ODD
#undef RB_LATE
#endif
}
