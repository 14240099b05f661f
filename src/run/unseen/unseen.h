// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Order made in libraries that nobody rebuilt (docs/explanation/unseen.md). A library is unseen if it is
// loaded, has no hooks, and is in no row of exempt_libraries.def. Its atomics order threads and are not
// followed one by one. Instead one object stands for the whole library:
//
//   a call into it     releases the thread's clock to the object, and the library is pending for the thread
//   while it pends     the thread acquires the object before an access is compared and before each release
//   a callback         acquires the object before its sampled accesses are compared
//
// A thread that receives through the library leaves it afterwards, and pends until it has left. So it
// acquires all that was released before the hand-over. This makes more order than there is: a race may be
// hidden, none is invented.
//
// Files: unseen_modules.c lists modules, unseen_libraries.c those that are unseen; got_slots.c leads calls to
// stubs, symbol_lookup.c finds their targets; unseen_entry.c runs at each call, unseen_order.c makes order.
// rmw_*.c hook atomic instructions: the thread releases to the object before one, and acquires after it.
#ifndef RB_RUN_UNSEEN_UNSEEN_H
#define RB_RUN_UNSEEN_UNSEEN_H

#include <link.h>

#include "run/core/upcalls.h"
#include "run/sync/objects.h"
#include "run/unseen/rmw.h"

#define RB_UNSEEN_MOST   1024u // libraries at once; more are not followed, and counted
#define RB_UNSEEN_SHARED 63u   // the last bit of a set: all libraries from this number on
#define RB_UNSEEN_NONE   UINT32_MAX

struct rb_unseen_library {
    struct rb_object object; // in no table; its address is its name
    uintptr_t from, to;      // where it is mapped; to 0: the number is free. `to` is written last
    char *name;              // base name of its file; stays when the library goes
    bool hooked;             // its table of atomic instructions was found; the lister's
};

extern RB_HIDDEN struct rb_unseen_library rb_unseen_library[RB_UNSEEN_MOST];
// Numbers below this one have been used. Grows only.
extern RB_HIDDEN uint32_t rb_unseen_count;

// Returns the number of the library that has the code, or RB_UNSEEN_NONE.
RB_HIDDEN uint32_t rb_unseen_find(uintptr_t pc);

RB_INLINE uint64_t rb_unseen_bit(uint32_t library)
{
    return (uint64_t)1 << (library < RB_UNSEEN_SHARED ? library : RB_UNSEEN_SHARED);
}

// Frees the lock of the list, in the child of a fork.
RB_HIDDEN void rb_unseen_list_reset(void);
// Forgets the clocks of all libraries; their stubs stay. For the child of a fork.
RB_HIDDEN void rb_unseen_reset_after_fork(void);

// ---- order (unseen_order.c) ----------------------------------------------------------------------------

// Releases the thread's clock to the library's object, after all that pends was acquired. In the guard.
RB_HIDDEN void rb_unseen_release(struct rb_self *me, uint32_t library);
// Returns true if the thread has left the libraries that pend.
RB_HIDDEN bool rb_unseen_is_left(const struct rb_self *me);
// Notes that an entry of the list was added or removed: stacks are looked at anew.
RB_HIDDEN void rb_unseen_list_changed(void);

// ---- calls (unseen_entry.c, arch_unseen_*.S) -----------------------------------------------------------

// The record of a stub. The stub's code has its address, and is never rewritten.
struct rb_unseen_stub {
    uintptr_t target; // the library's function
    uintptr_t enter;  // rb_arch_unseen_enter
    uint32_t library;
    bool used;
    uint64_t *slot;    // which leads here,
    uint64_t original; // and held this before
    uintptr_t module;  // the dynamic section of the slot's module
};

// The vector registers that a call may pass arguments in: xmm, ymm or zmm 0 to 7.
enum rb_unseen_vectors { RB_UNSEEN_XMM, RB_UNSEEN_YMM, RB_UNSEEN_ZMM };
extern RB_HIDDEN int rb_unseen_vectors;
RB_HIDDEN int rb_arch_unseen_vectors(void);

// Notes the call whose return address is at `sp`. Returns true if rb_unseen_enter must follow. Changes no
// vector register.
RB_HIDDEN bool rb_unseen_enter_quick(const struct rb_unseen_stub *stub, uintptr_t sp);
RB_HIDDEN void rb_unseen_enter(const struct rb_unseen_stub *stub, uintptr_t sp);
// Adds the library to those that pend, for a call whose return address is at `sp`. In the guard.
RB_HIDDEN void rb_unseen_note_entry(struct rb_self *me, uint32_t library, uintptr_t sp);
// Does so for a thread that was found in the library, with its frame below `limit`.
RB_HIDDEN void rb_unseen_note_use(struct rb_self *me, uint32_t library, uintptr_t limit);
// The code that all stubs continue at: saves the registers that pass arguments, calls the functions above,
// and jumps to the target. Not a function of C.
RB_HIDDEN void rb_arch_unseen_enter(void);

// ---- modules (unseen_modules.c) ------------------------------------------------------------------------
// The loaded modules, as the last rb_modules_list found them, in the loader's order. All functions below
// are called with the loader's lock held, which dl_iterate_phdr takes.

struct rb_loaded {
    uintptr_t base, from, to;
    const ElfW(Phdr) * header;
    unsigned headers;
    const char *name; // base name of the file; "" for the program
    // The tables that the loader uses.
    const ElfW(Dyn) * section;
    const ElfW(Sym) * symbols;
    const char *names;
    size_t name_bytes;
    const uint32_t *gnu_hash;
    const ElfW(Versym) * versions; // of each symbol; NULL: the module has none
    const char *needs, *defines;   // version tables
    const ElfW(Rela) * jumps, *rest;
    size_t jump_count, rest_count;
    const char *soname;        // "" if it has none
    bool hooks, exempt, start; // instrumented; not followed; loaded with the program, so never unloaded
    bool led;                  // rb_slots_redirect was called for it
    uint64_t left;             // its result
};

#define RB_LOADED_MOST 1024u
extern RB_HIDDEN struct rb_loaded rb_loaded[RB_LOADED_MOST]; // `led` and `left` are the caller's
extern RB_HIDDEN unsigned rb_loaded_count;

// Lists the modules anew. `start`: those are the ones that came with the program.
RB_HIDDEN void rb_modules_list(bool start);
// Returns the module with the dynamic section, or NULL.
RB_HIDDEN const struct rb_loaded *rb_module_loaded(uintptr_t section);

// ---- slots (got_slots.c) -------------------------------------------------------------------------------

// Leads calls of the module to stubs, as far as they go to functions of unseen libraries: tables of virtual
// functions, and slots. Returns the number of those that could not be.
RB_HIDDEN uint64_t rb_slots_redirect(struct rb_self *me, const struct rb_loaded *module);
// Gives the slots of libraries that have gone back to the loader, and frees their stubs and those of modules
// that are not loaded any more. With `all` it gives every slot back.
RB_HIDDEN void rb_slots_sweep(bool all);

// ---- symbols (symbol_lookup.c) -------------------------------------------------------------------------

RB_HIDDEN uint32_t rb_symbol_count(const struct rb_loaded *module);
// Returns the first definition of the caller's symbol, or 0. *certain: the loader would bind the symbol to
// it, and it is a plain function of a module that stays as long as the caller.
RB_HIDDEN uintptr_t rb_symbol_target(const struct rb_loaded *caller, uint32_t symbol, bool *certain);

#endif
