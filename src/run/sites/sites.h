// Call sites of hooks that can be switched off in the code: docs/sites.md. And gates of functions with two
// bodies, which are switched by a byte in the data: docs/bodies.md.
#ifndef RB_RUN_SITES_SITES_H
#define RB_RUN_SITES_SITES_H

#include "run/core/rt.h"

enum rb_site_state { RB_SITE_AWAKE, RB_SITE_DROWSY, RB_SITE_ASLEEP, RB_SITE_REFUSED, RB_SITE_DEAD };

struct rb_site {
    uintptr_t pc; // what the call returns to; of a gate, its byte
    uint8_t state;
    uint8_t bytes_back; // of the byte that is written, before pc; of a gate, 0
    uint8_t awake, asleep;
    // For the sampler that runs; written without care by whoever calls.
    uint16_t left;      // calls to take before it sleeps
    uint16_t last;      // thread that called last
    uint16_t looks;     // of a gate: how often that thread had looked at accesses by then
    uint8_t others : 4; // times another thread's coming may prolong that
    uint8_t slow : 1;   // of a gate: what is behind it takes long
    uint8_t hooks : 3;  // of a gate: the logarithm of how many calls are behind it, as far as seen; 4: many
    uint8_t switched;   // how often, modulo 256
    uint16_t taken;     // calls, as far as it goes
    uint16_t given;     // when the burst began, in units of the sampler's
    uintptr_t gate;     // by which somebody came here; 0: by none
};

// What the hooks of single accesses announce (tsan_abi.c). Of what the others do a site alone says too
// little.
struct rb_hook {
    void (*function)(void *address);
    uint8_t size;
    bool reads, writes;
    bool aligned; // the address is a multiple of the size
};
RB_HIDDEN const struct rb_hook *rb_hook_at(uintptr_t address); // NULL: none of these

// False: sites cannot be switched here; everything is gated.
extern RB_HIDDEN bool rb_sites_on;

RB_HIDDEN int rb_sites_init(size_t memory);
RB_HIDDEN void rb_sites_reset_after_fork(void);

// The site that returns to `pc`, found by a call from it just now; NULL if none can be had. Refused ones are
// given as such. Inside the guard, like all of these.
RB_HIDDEN struct rb_site *rb_site_at(struct rb_self *me, uintptr_t pc);
// The same of a gate, by somebody who goes through it.
RB_HIDDEN struct rb_site *rb_gate_at(uintptr_t gate);
RB_INLINE bool rb_site_is_gate(const struct rb_site *s)
{
    return s->bytes_back == 0 && s->state < RB_SITE_REFUSED;
}
// A call of it is taken.
RB_INLINE void rb_site_count(struct rb_site *s)
{
    s->taken += s->taken < UINT16_MAX;
}
// The site or gate there, if it is known; NULL if not.
RB_HIDDEN struct rb_site *rb_site_known(uintptr_t pc);
// Puts it to sleep, now or soon; false if it cannot sleep.
RB_HIDDEN bool rb_site_sleep(struct rb_self *me, struct rb_site *s);
RB_INLINE bool rb_site_can_sleep(const struct rb_site *s)
{
    return s && s->state < RB_SITE_REFUSED;
}

// Sites that a thread has found waiting to sleep while somebody else writes code, who may have lost the core
// over it: nothing is asked about them until that is done, when the epoch changes. Read by the hooks
// themselves (arch_hooks_*.S), 16 places by bits 3 to 6 of the address.
struct rb_drowsy {
    uint64_t epoch;
    uintptr_t pc[16];
};
extern RB_TLS RB_HIDDEN struct rb_drowsy rb_drowsy;
extern RB_HIDDEN uint64_t rb_flips_epoch; // odd while somebody writes code
RB_INLINE uintptr_t *rb_drowsy_place(uintptr_t pc)
{
    return &rb_drowsy.pc[pc >> 3 & 15];
}
RB_INLINE bool rb_is_drowsy(uintptr_t pc)
{
    return RB_UNLIKELY(*rb_drowsy_place(pc) == pc) && rb_drowsy.epoch == rb_load_relaxed(&rb_flips_epoch);
}

// The nearest site before `pc`, at most `most` bytes away in the same code: what its call returns to, or 0;
// and the hook it calls. Finds without adding; lock-free.
RB_HIDDEN uintptr_t rb_site_before(uintptr_t pc, uint32_t most, uintptr_t *hook);

// How many there are to choose from, dead and refused ones included, and one of them.
RB_HIDDEN uint32_t rb_sites_count(void);
RB_HIDDEN struct rb_site *rb_site_number(uint32_t i);
// Wakes those of the list that sleep, or puts those to sleep that are awake; how many it did. Takes its time,
// and does nothing if others are at it. `wanted`: of all sites those it is true of.
RB_HIDDEN uint32_t rb_sites_flip(struct rb_site **list, uint32_t count, enum rb_site_state to);
RB_HIDDEN uint32_t rb_sites_flip_all(bool (*wanted)(struct rb_site *s), enum rb_site_state to);

// No code changes between these: while a library goes, and during a fork.
RB_HIDDEN void rb_sites_hold(void);
RB_HIDDEN void rb_sites_let(void);
RB_HIDDEN void rb_sites_forget(uintptr_t from, uintptr_t to); // a library that is gone; within a hold

// The program is about to change how these pages are protected. If there is code among them, it may mean to
// write there (tests put other functions in the place of some): what sleeps is woken, and no code is written
// any more. Gates go on.
RB_HIDDEN void rb_sites_freeze(uintptr_t from, uintptr_t to);

struct rb_site_counts {
    uint64_t sites, awake, refused, flips;
    uint64_t gates, open;
};
RB_HIDDEN void rb_sites_counts(struct rb_site_counts *counts);
RB_HIDDEN size_t rb_sites_bytes(void);

#endif
