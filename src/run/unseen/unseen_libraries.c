// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The list of unseen libraries (unseen.h), made when the second thread is about to start and brought up to
// date by dlopen and dlclose.
//
// Invariant: the list is written in a callback of dl_iterate_phdr alone. libc holds a lock of its loader
// meanwhile, which a thread may take again. So there is one writer at a time, and no lock of ours that a
// constructor could take in the other order. Readers take no lock: `to` is written last.
#include <errno.h>

#include "inproc/modules.h"
#include "inproc/spin.h"
#include "run/intercept/heap.h"
#include "run/unseen/unseen.h"

struct rb_unseen_library rb_unseen_library[RB_UNSEEN_MOST];
uint32_t rb_unseen_count;

uint32_t rb_unseen_find(uintptr_t pc)
{
    const uint32_t count = rb_load_acquire(&rb_unseen_count);

    for (uint32_t i = 0; i < count; i++)
        if (pc < rb_load_acquire(&rb_unseen_library[i].to) && pc >= rb_unseen_library[i].from)
            return i;
    return RB_UNSEEN_NONE;
}

#if defined(RB_STATIC)
void rb_unseen_init(void)
{
}

void rb_unseen_begin(struct rb_self *me)
{
    (void)me;
}

void rb_unseen_update(void)
{
}

void rb_unseen_finish(void)
{
}

void rb_unseen_list_reset(void)
{
}
#else
static bool begun;       // the list is kept
static rb_spin changing; // held while slots are changed, and from the end of tracking on. Never waited for
static uint64_t left;    // slots that could not be redirected, at the last update

static char *copy_name(const char *name)
{
    size_t bytes = 1;

    while (name[bytes - 1])
        bytes++;
    char *copy = rb_arena_alloc(&rb_host.kept, bytes);
    for (size_t i = 0; copy && i < bytes; i++)
        copy[i] = name[i];
    return copy;
}

static bool is_same_name(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

static struct rb_unseen_library *find_free(void)
{
    for (uint32_t i = 0; i < RB_UNSEEN_MOST; i++)
        if (!rb_unseen_library[i].to)
            return &rb_unseen_library[i];
    return NULL;
}

// Adds the module if it is an unseen library that is not in the list. Returns true if it did.
static bool add_library(struct rb_self *me, const struct rb_loaded *m)
{
    if (m->hooks || m->exempt || m->from >= m->to || rb_unseen_find(m->from) != RB_UNSEEN_NONE)
        return false;
    struct rb_unseen_library *l = find_free();
    if (!l) {
        me->count.unseen_beyond++;
        return false;
    }
    if (!l->name || !is_same_name(l->name, m->name))
        l->name = copy_name(m->name);
    l->object.address = (uintptr_t)&l->object;
    l->hooked = false;
    l->from = m->from;
    rb_store_release(&l->to, m->to);
    if ((uint32_t)(l - rb_unseen_library) >= rb_unseen_count)
        rb_store_release(&rb_unseen_count, (uint32_t)(l - rb_unseen_library) + 1);
    me->count.unseen_libraries++;
    return true;
}

// Returns true if the module is in malloc's place: its blocks are new to their next user, and its atomic instructions
// order nothing of the program's.
static bool has_allocator(const struct rb_loaded *m)
{
    const uintptr_t allocator = rb_heap_allocator();

    return allocator >= m->from && allocator < m->to;
}

// Hooks the atomic instructions of the unseen library if that is wanted, once the tool has made its table.
static void hook_library(const struct rb_loaded *m)
{
    const uint32_t library = m->hooks || m->exempt ? RB_UNSEEN_NONE : rb_unseen_find(m->from);
    struct rb_rmw_table table;
    struct rb_module module;

    if (!rb_options.unseen_hooks || library == RB_UNSEEN_NONE || rb_unseen_library[library].hooked ||
        has_allocator(m))
        return;
    if (!rb_module_of((uintptr_t)m->section, &module) || rb_rmw_table_find(&module, &table))
        return;
    rb_unseen_library[library].hooked = true;
    if (table.header->rows)
        rb_rmw_hook_module(library, m->base, &table);
    rb_rmw_table_close(&table);
}

static bool is_listed(const struct rb_unseen_library *l)
{
    for (unsigned i = 0; i < rb_loaded_count; i++)
        if (rb_loaded[i].from == l->from && rb_loaded[i].to == l->to)
            return true;
    return false;
}

// Removes the libraries that have gone. Their clocks stay with the number: its next library has more order
// than there is.
static void remove_gone(void)
{
    for (uint32_t i = 0; i < rb_unseen_count; i++)
        if (rb_unseen_library[i].to && !is_listed(&rb_unseen_library[i])) {
            rb_rmw_forget_module(i);
            rb_store_release(&rb_unseen_library[i].to, 0);
        }
}

// Leads calls of the module to stubs, unless that was done for all and no library has come since. Order may
// go through several libraries: their calls of each other are followed too.
static void lead_calls(struct rb_self *me, struct rb_loaded *m, bool has_new)
{
    const bool is_program = !m->name[0];

    if ((m->exempt && !m->hooks && !is_program) || (m->led && !has_new && !m->left))
        return;
    m->left = rb_slots_redirect(me, m);
    m->led = true;
}

// Does all work in the callback for the first module.
static int update_all(struct dl_phdr_info *first, size_t size, void *self)
{
    struct rb_self *me = self;
    uint64_t now_left = 0;
    bool has_new = false;

    (void)first;
    (void)size;
    if (!rb_spin_try(&changing)) // the end has come
        return 1;
    rb_modules_list(false);
    remove_gone();
    rb_slots_sweep(false);
    for (unsigned i = 0; i < rb_loaded_count; i++)
        has_new |= add_library(me, &rb_loaded[i]);
    for (unsigned i = 0; i < rb_loaded_count && rb_unseen_count; i++)
        hook_library(&rb_loaded[i]);
    for (unsigned i = 0; i < rb_loaded_count && rb_unseen_count; i++) {
        lead_calls(me, &rb_loaded[i], has_new);
        now_left += rb_loaded[i].left;
    }
    me->count.unseen_slots_left += now_left - left; // the sum over all threads is `left`
    left = now_left;
    rb_unseen_list_changed();
    rb_spin_unlock(&changing);
    return 1;
}

static int list_start(struct dl_phdr_info *first, size_t size, void *unused)
{
    (void)first;
    (void)size;
    (void)unused;
    rb_modules_list(true);
    return 1;
}

void rb_unseen_init(void)
{
    if (rb_process.unseen)
        dl_iterate_phdr(list_start, NULL);
}

void rb_unseen_begin(struct rb_self *me)
{
    if (!rb_process.unseen || rb_exchange_seq_cst(&begun, true))
        return;
    rb_unseen_vectors = rb_arch_unseen_vectors();
    if (rb_options.unseen_hooks)
        rb_rmw_prepare();
    dl_iterate_phdr(update_all, me);
}

// Takes no lock of the loader: another thread may hold it for as long as a constructor runs. In the guard, if that is
// possible: a handler of the program would wait for the lock of hooks.
void rb_unseen_finish(void)
{
    if (!rb_load_acquire(&begun) || rb_host.sandboxed || !rb_spin_try(&changing))
        return;
    struct rb_self *me = rb_enter();
    rb_slots_sweep(true);
    rb_rmw_restore_all();
    if (me)
        rb_leave(me);
}

void rb_unseen_list_reset(void)
{
    changing = 0;
    rb_rmw_reset_after_fork();
}

void rb_unseen_update(void)
{
    const int saved = errno;
    struct rb_self *me = rb_load_acquire(&begun) ? rb_enter() : NULL;

    if (me) {
        dl_iterate_phdr(update_all, me);
        rb_leave(me);
    }
    errno = saved;
}
#endif
