// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Libraries that are loaded and unloaded while the program runs: the order that the loader's lock makes.
#include "run/intercept/lifecycle.h"

#include <errno.h>

#include "inproc/modules.h"
#include "run/core/arch.h"
#include "run/core/upcalls.h"
#include "run/intercept/intercept.h"
#include "run/sync/sync.h"

static char loader;     // the address is the sync object of the loader's lock
static char ended;      // the address is the sync object of threads that have ended
static bool used;       // dlopen or dlclose was called
static uint32_t inside; // number of threads inside the loader
static RB_TLS uint32_t depth;
static RB_TLS bool is_another;
static RB_TLS struct rb_self *ignoring; // NULL: events inside the loader are recorded

static void pass_loader(bool closing)
{
    const int saved = errno;
    struct rb_self *me = rb_is_paused() ? NULL : rb_enter();

    if (me) {
        if (is_another)
            rb_lost_edge(me);
        rb_on_release(me, (uintptr_t)&loader);
        rb_on_acquire(me, (uintptr_t)&loader);
        if (closing)
            rb_on_acquire(me, (uintptr_t)&ended);
        rb_leave(me);
    }
    errno = saved;
}

static void begin_ignoring(void)
{
    ignoring = rb_self_get();
    if (ignoring) {
        ignoring->ignore_reads++;
        ignoring->ignore_writes++;
    }
}

static void end_ignoring(void)
{
    if (ignoring && ignoring == rb_self_tls) {
        ignoring->ignore_reads--;
        ignoring->ignore_writes--;
    }
    ignoring = NULL;
}

void rb_libraries_begin(bool closing)
{
    if (depth++)
        return;
    rb_store_relaxed(&used, true);
    is_another = rb_fetch_add_seq_cst(&inside, 1) != 0;
    if (is_another)
        begin_ignoring();
    pass_loader(closing);
}

void rb_libraries_end(void)
{
    if (--depth)
        return;
    pass_loader(false);
    end_ignoring();
    rb_fetch_sub_seq_cst(&inside, 1);
}

void rb_libraries_acquire(struct rb_self *me)
{
    if (rb_load_relaxed(&used))
        rb_on_acquire(me, (uintptr_t)&loader);
}

void rb_libraries_thread_ends(struct rb_self *me)
{
    if (rb_load_relaxed(&used))
        rb_on_release(me, (uintptr_t)&ended);
}

bool rb_libraries_is_inside(void)
{
    return depth != 0;
}

void rb_libraries_after_fork(void)
{
    rb_store_relaxed(&inside, depth ? 1 : 0);
    is_another = false;
    ignoring = NULL;
}

#if !defined(RB_STATIC)
// ---- the list of libraries -----------------------------------------------------------------------------
// libc holds a lock while it calls the function, so data that the function works on needs no other lock.

static char iteration; // the address is the sync object of that lock

struct visit {
    int (*function)(struct dl_phdr_info *, size_t, void *);
    void *data;
};

static int visit_library(struct dl_phdr_info *info, size_t size, void *given)
{
    const struct visit *v = given;

    RB_BESIDE((void)0, rb_on_acquire(me, (uintptr_t)&iteration));
    const int r = v->function(info, size, v->data);
    RB_BESIDE((void)0, rb_on_release(me, (uintptr_t)&iteration));
    return r;
}

RB_INTERCEPT(int, dl_iterate_phdr, (int (*function)(struct dl_phdr_info *, size_t, void *), void *data))
{
    struct visit v = {function, data};

    return RB_REAL(dl_iterate_phdr)(visit_library, &v);
}

// ---- dlopen --------------------------------------------------------------------------------------------
// dlopen looks at its caller: the caller's file decides the search path and the meaning of $ORIGIN. So the
// real function is called as if from that file.

struct search {
    uintptr_t pc, found;
};

// Finds the first `ret` behind the address, in the code around it. The loader's list has the headers of every
// file, also where they are beyond the first page (modules.h).
static int find_return(struct dl_phdr_info *info, size_t size, void *given)
{
    struct search *s = given;

    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const uintptr_t start = info->dlpi_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD || s->pc - start >= p->p_memsz)
            continue;
        const uintptr_t end = start + p->p_filesz;
        for (uintptr_t at = s->pc; p->p_flags & PF_R && p->p_flags & PF_X && at < end && !s->found; at++)
            if (*(const unsigned char *)at == RB_ARCH_RETURN)
                s->found = at;
        return 1;
    }
    return 0;
}

static void *open_from(uintptr_t pc, const char *path, int mode)
{
    struct search s = {pc, 0};

    if (!rb_module_is_same(pc, (uintptr_t)&loader) && !rb_arch_checks_returns())
        dl_iterate_phdr(find_return, &s);
    if (s.found)
        return rb_arch_call_from((uintptr_t)RB_REAL(dlopen), path, mode, s.found);
    return RB_REAL(dlopen)(path, mode);
}

RB_INTERCEPT(void *, dlopen, (const char *path, int mode))
{
    rb_libraries_begin(false);
    void *library = open_from(RB_PC, path, mode);
    if (library)
        rb_unseen_update();
    rb_libraries_end();
    return library;
}
#endif
