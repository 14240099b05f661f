// The interceptors that are rows, and where the real functions are.
#include "rt/intercept.h"

#include "rt/heap.h"
#include "rt/signals.h"
#include "rt/sync.h"
#include "rt/thread.h"

static void rb_thread_named(pthread_t handle, const char *name)
{
    const struct rb_self *t = rb_thread_by_handle(handle);

    if (t)
        rb_thread_name(t->id, name);
}

#define RB_AFTER(ret, name, params, args, done, after) \
    RB_INTERCEPT(ret, name, params)                    \
    {                                                  \
        ret r = RB_REAL(name) args;                    \
        const int saved = errno;                       \
        struct rb_self *me = done ? rb_enter() : NULL; \
        if (me) {                                      \
            after;                                     \
            rb_leave(me);                              \
        }                                              \
        errno = saved;                                 \
        return r;                                      \
    }
#define RB_BEFORE(ret, name, params, args, before) \
    RB_INTERCEPT(ret, name, params)                \
    {                                              \
        const int saved = errno;                   \
        struct rb_self *me = rb_enter();           \
        if (me) {                                  \
            before;                                \
            rb_leave(me);                          \
        }                                          \
        errno = saved;                             \
        return RB_REAL(name) args;                 \
    }
#define RB_ODD(ret, name, params)
#pragma GCC diagnostic ignored "-Wpedantic" // mtx_destroy returns nothing, by `return`
#include "rt/intercept.def"
#undef RB_BEFORE
#undef RB_AFTER
#undef RB_ODD

#if !defined(RB_STATIC)
struct rb_real rb_real;

// Functions that changed their layout: the plain look-up may find the old one.
static const struct {
    const char *name, *version;
} versioned[] = {{"pthread_cond_wait", "GLIBC_2.3.2"}, {"pthread_cond_timedwait", "GLIBC_2.3.2"}};

void *rb_real_find(void **slot, const char *name)
{
    const int saved = errno;
    void *found = NULL;

    for (unsigned i = 0; i < RB_LENGTH(versioned) && !found; i++)
        if (!__builtin_strcmp(versioned[i].name, name))
            found = dlvsym(RTLD_NEXT, name, versioned[i].version);
    if (!found)
        found = dlsym(RTLD_NEXT, name);
    __atomic_store_n(slot, found, __ATOMIC_RELAXED);
    errno = saved;
    return found;
}
#endif

// The heap first: looking up others may use it.
void rb_real_init(void)
{
#if !defined(RB_STATIC)
    rb_heap_find_real();
#define RB_BEFORE(ret, name, params, args, before)     rb_real_find((void **)(void *)&rb_real.name, #name);
#define RB_AFTER(ret, name, params, args, done, after) rb_real_find((void **)(void *)&rb_real.name, #name);
#define RB_ODD(ret, name, params)                      rb_real_find((void **)(void *)&rb_real.name, #name);
#include "rt/intercept.def"
#undef RB_BEFORE
#undef RB_AFTER
#undef RB_ODD
#endif
}
