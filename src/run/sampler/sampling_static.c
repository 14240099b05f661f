// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The static sampler in the running program: a fixed random subset of code locations, every execution of
// them.
//
// A location is a module (build-id, or else path) and an offset in it. A hash of location and seed decides
// whether it is chosen. So the choice is the same in every process, thread and address layout, and
// different seeds together reach all locations.
//
// Finding the module is slow, so answers are cached by address in a lock-free table with lines of eight
// entries. A full line evicts an entry; a lost answer is computed again. An answer holds for the libraries
// loaded at that time: it carries the low bits of their generation (rb_unwind_forget) and matches no query
// after a dlclose.
#include <errno.h>

#include "inproc/modules.h"
#include "inproc/unwind.h"
#include "run/access/access.h"
#include "run/sampler/sampling.h"
#include "run/sites/sites.h"

#define LINES 8192u
#define WAYS  8u

static uint64_t (*known)[WAYS]; // generation << 49 | address << 1 | chosen; 0: free
static uint64_t threshold;      // P as a fraction of 2^64
static bool always;

int rb_static_init(void)
{
    const double p = rb_sampling_process.spec.p;
    void *table = known;

    always = p >= 1;
    threshold = always ? UINT64_MAX : (uint64_t)(p * 0x1p64);
    rb_sites_flip_all(NULL, RB_SITE_AWAKE); // a child of fork: another seed, another choice
    const int error = rb_sampling_zero_table(&table, LINES * sizeof(*known));
    known = table;
    return error;
}

static uint64_t hash_text(const char *text)
{
    uint64_t h = 0xcbf29ce484222325u; // FNV-1a

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return h;
}

static RB_NOINLINE bool choose_place(uintptr_t pc)
{
    const int saved = errno;
    struct rb_module m;
    uint64_t module = 0, place = pc;

    if (rb_module_of(pc, &m)) {
        module = hash_text(m.build_id[0] ? m.build_id : m.path);
        place = pc - m.bias;
    }
    errno = saved;
    const uint64_t hash = rb_mix64(rb_mix64(rb_sampling_process.seed + module) + place * RB_GOLDEN);
    return always || hash < threshold;
}

static RB_NOINLINE bool learn_place(uint64_t *line, uintptr_t pc, uint64_t key)
{
    const bool chosen = choose_place(pc);
    uint32_t way = 0;

    for (uint64_t entry; way < WAYS; way++)
        if (!(entry = rb_load_relaxed(&line[way])) || entry >> 49 != key >> 48)
            break;
    if (way == WAYS)
        way = (uint32_t)(rb_mix64(pc) >> 32) % WAYS;
    rb_store_relaxed(&line[way], key << 1 | chosen);
    return chosen;
}

bool rb_static_chosen(uintptr_t pc)
{
    const uint64_t key = (rb_unwind_generation() << 48 | pc) & (UINT64_MAX >> 1);
    uint64_t *line = known[(pc * RB_GOLDEN >> 40) & (LINES - 1)];

    for (uint32_t i = 0; i < WAYS; i++) {
        const uint64_t entry = rb_load_relaxed(&line[i]);
        if (entry >> 1 == key)
            return entry & 1;
    }
    return learn_place(line, pc, key);
}

static enum rb_take static_decide(struct rb_self *me, uintptr_t pc, uint64_t passed, uint64_t *gap)
{
    (void)passed;
    *gap = 0;
    if (rb_static_chosen(pc))
        return RB_TAKE;
    rb_site_sleep(me, rb_site_at(me, pc));
    return RB_PASS;
}

const struct rb_policy rb_policy_static = {.ops = &rb_sample_static,
                                           .init = rb_static_init,
                                           .next = static_decide};
