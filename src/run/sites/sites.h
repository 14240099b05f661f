// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Call sites of hooks that can be switched off in the code: docs/explanation/sites.md. And gates of functions with two
// copies, which are switched by a byte in the data: docs/explanation/copies.md. A site is awake while its hook is
// called, queued while it waits for its patch, and asleep when patched.
#ifndef RB_RUN_SITES_SITES_H
#define RB_RUN_SITES_SITES_H

#include "run/core/rt.h"

enum rb_site_state { RB_SITE_AWAKE, RB_SITE_QUEUED, RB_SITE_ASLEEP, RB_SITE_REFUSED, RB_SITE_DEAD };

struct rb_site {
    uintptr_t pc; // return address of the call; of a gate, its byte
    uint8_t state;
    uint8_t bytes_back; // of the byte that is written, before pc; of a gate, 0
    uint8_t awake, asleep;
    // For the sampler that runs; written without synchronisation by any caller.
    uint16_t left;  // calls to take before it sleeps
    uint16_t taken; // calls, up to the largest number it holds
    bool begun;     // datacollider: called before
    uintptr_t gate; // the gate by which a thread came here; 0: none
};

// The access that a hook of single accesses announces (tsan_abi.c). For the other hooks the site alone says
// too little.
struct rb_hook {
    void (*function)(void *address);
    uint8_t size;
    bool reads, writes;
    bool aligned; // the address is a multiple of the size
};
RB_HIDDEN const struct rb_hook *rb_hook_at(uintptr_t address); // NULL: no such hook

// False: code cannot be switched here. Then every place counts as one that cannot sleep.
extern RB_HIDDEN bool rb_sites_on;

RB_HIDDEN int rb_sites_init(size_t memory);
RB_HIDDEN void rb_sites_reset_after_fork(void);

// Returns the site that returns to `pc`, called from it just now; NULL if none can be had. Refused sites
// are returned as such. Inside the guard, like all of these.
RB_HIDDEN struct rb_site *rb_site_at(struct rb_self *me, uintptr_t pc);
// Returns the site of a gate, called by a thread that passes it.
RB_HIDDEN struct rb_site *rb_gate_at(uintptr_t gate);
RB_INLINE bool rb_site_is_gate(const struct rb_site *s)
{
    return s->bytes_back == 0 && s->state < RB_SITE_REFUSED;
}
// Counts a call that is taken.
RB_INLINE void rb_site_count(struct rb_site *s)
{
    s->taken += s->taken < UINT16_MAX;
}
// Returns the site or gate at the address, if it is known; else NULL.
RB_HIDDEN struct rb_site *rb_site_known(uintptr_t pc);
// Puts the site to sleep, now or soon. Returns false if it cannot sleep.
RB_HIDDEN bool rb_site_sleep(struct rb_self *me, struct rb_site *s);
RB_INLINE bool rb_site_can_sleep(const struct rb_site *s)
{
    return s && s->state < RB_SITE_REFUSED;
}

// Per-thread cache of sites queued for patching, found while another thread writes code. That thread may
// have lost the core, so nothing is asked about these sites until the epoch changes. Read by the hooks
// themselves (arch_hooks_*.S), 16 places by bits 3 to 6 of the address.
struct rb_queued {
    uint64_t epoch;
    uintptr_t pc[16];
};
extern RB_TLS RB_HIDDEN struct rb_queued rb_queued;
extern RB_HIDDEN uint64_t rb_flips_epoch; // odd while code is being written
RB_INLINE uintptr_t *rb_queued_place(uintptr_t pc)
{
    return &rb_queued.pc[pc >> 3 & 15];
}
RB_INLINE bool rb_is_queued(uintptr_t pc)
{
    return RB_UNLIKELY(*rb_queued_place(pc) == pc) && rb_queued.epoch == rb_load_relaxed(&rb_flips_epoch);
}

// Returns the nearest site before `pc`, at most `most` bytes away in the same code, as the return address
// of its call; 0 if there is none. *hook is the hook it calls. Adds no site; lock-free.
RB_HIDDEN uintptr_t rb_site_before(uintptr_t pc, uint32_t most, uintptr_t *hook);

// Returns the number of sites, dead and refused ones included; and one of them.
RB_HIDDEN uint32_t rb_sites_count(void);
RB_HIDDEN struct rb_site *rb_site_number(uint32_t i);
// Wakes those of the list that sleep, or puts to sleep those that are awake. Returns how many it switched.
// Takes its time, and does nothing if another thread is at it. `wanted` selects from all sites.
RB_HIDDEN uint32_t rb_sites_flip(struct rb_site **list, uint32_t count, enum rb_site_state to);
RB_HIDDEN uint32_t rb_sites_flip_all(bool (*wanted)(struct rb_site *s), enum rb_site_state to);

// Keeps code from changes until rb_sites_let: while a library is unloaded, and during a fork.
RB_HIDDEN void rb_sites_hold(void);
RB_HIDDEN void rb_sites_let(void);
RB_HIDDEN void rb_sites_forget(uintptr_t from, uintptr_t to); // a library that is gone; within a hold

// Wakes all sleeping sites, and keeps the runtime from writing code any more, if there is code among these
// pages. The program is about to change their protection, and may mean to write there (tests replace
// functions that way). Gates stay in use.
RB_HIDDEN void rb_sites_freeze(uintptr_t from, uintptr_t to);

struct rb_site_counts {
    uint64_t sites, awake, refused, flips;
    uint64_t gates, open;
};
RB_HIDDEN void rb_sites_counts(struct rb_site_counts *counts);
RB_HIDDEN size_t rb_sites_bytes(void);

// ---- site_cost.c: costs that no clock measures, for the sampler that goes by cost ----------------------

// Ticks that a measured time counts for at most: a longer one was not on a core.
#define RB_LONGEST 100000u

// Notes that the thread passes the gate or the probe. Returns the ticks of sleeping hooks in the copy behind
// it since the thread's last pass. Inside the guard.
RB_HIDDEN uint64_t rb_gate_pass(struct rb_self *me, struct rb_site *gate);
// Notes that the gate is closed: later work of the thread is not behind it.
RB_HIDDEN void rb_gate_closed(struct rb_self *me);
// Notes a look at the site, reached by the gate that the thread passed last.
RB_HIDDEN void rb_gate_looked(struct rb_self *me, struct rb_site *s);

#endif
