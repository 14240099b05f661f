// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of call sites and gates, the queue of sites to patch, and the patches (docs/explanation/sites.md).
#include "run/sites/sites.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/pages.h"
#include "base/types.h"
#include "inproc/clocks.h"
#include "run/core/arch.h"
#include "run/core/footprint.h"
#include "run/sites/patch.h"

// Writing code has a high price that does not depend on the number of sites: two mprotects, and an
// interrupt of each core that runs the program. A call of a queued site costs about PASS_NS. So writing is
// put off until as much was spent on such calls as the last writing took.
#define QUEUE      1024u
#define PASS_NS    120u
#define PATIENCE   128u // calls, the first time, and the least
#define SITE_SHARE 512u // bytes of memory= for each site
#define NEAR       64u  // places of the hash table, for as many gates or 256 bytes of code
#define MANY       128u // sites; for more, the whole hash table is mapped at once

// The bounds of the section of the hooks (tsan_abi.c).
extern const char __start_rb_hooks[] RB_HIDDEN, __stop_rb_hooks[] RB_HIDDEN;

bool rb_sites_on;

static struct rb_site *record; // [0] is none
static uint32_t *place;        // hash table of indices into it; 0: free
static uint32_t room, places;  // of the two; `places` is a power of two
static uint32_t used, dead;    // records
static rb_spin lock;           // of the table and the queue

static struct rb_site *queues[2][QUEUE]; // one is filled; the other is processed, under `flips`
static struct rb_site **queue = queues[0];
static uint32_t queued, impatience, patience = PATIENCE;

static rb_spin flips; // pages are writable; taken before `lock` where both are
uint64_t rb_flips_epoch;
RB_TLS struct rb_queued rb_queued;
static uint32_t holds;
static bool frozen; // code belongs to the program: only gates are switched
static uint64_t flipped;

// ---- code ----------------------------------------------------------------------------------------------

static bool find_text(uintptr_t pc, struct rb_patch_text *t)
{
    return rb_patch_find(pc - RB_CALL_BYTES, pc, t) && pc - RB_CALL_BYTES >= t->start && pc <= t->end;
}

static bool is_hook(uintptr_t address)
{
    return address >= (uintptr_t)__start_rb_hooks && address < (uintptr_t)__stop_rb_hooks;
}

// Returns the hook that a call of the target reaches, perhaps by a stub of the linker's; 0: none.
static uintptr_t find_hook(uintptr_t target)
{
    struct rb_patch_text t;

    if (is_hook(target))
        return target;
    if (!find_text(target + RB_CALL_BYTES, &t) || target + 16 > t.to)
        return 0;
    const uintptr_t behind = rb_arch_stub(target);
    return is_hook(behind) ? behind : 0;
}

static void classify_site(struct rb_site *s, bool gate)
{
    struct rb_call call;
    struct rb_patch_text t;

    if (gate) {
        s->state = RB_SITE_AWAKE;
        s->awake = 1;
        return;
    }
    s->state = RB_SITE_REFUSED;
    if (frozen || !find_text(s->pc, &t) || !rb_arch_call(s->pc, &call) || !find_hook(call.target))
        return;
    s->state = RB_SITE_AWAKE;
    s->bytes_back = (uint8_t)(s->pc - (uintptr_t)call.byte);
    s->awake = call.awake;
    s->asleep = call.asleep;
}

static bool try_flips(void)
{
    if (!rb_spin_try(&flips))
        return false;
    rb_fetch_add_relaxed(&rb_flips_epoch, 1);
    return true;
}

static void take_flips(void)
{
    while (!try_flips())
        rb_spin_wait(&flips);
}

static void let_flips(void)
{
    rb_fetch_add_relaxed(&rb_flips_epoch, 1);
    rb_spin_unlock(&flips);
}

// ---- the table -----------------------------------------------------------------------------------------

// Returns the first place to search. Sites of the same stretch of code are searched one after the other, so
// NEAR places of the table lie side by side: with thousands of sites at random places each search would
// miss the cache. A call has five bytes, a gate one.
static uint32_t home_of(uintptr_t pc, bool gate)
{
    const uintptr_t at = gate ? pc : pc / 4;
    const uint32_t block = (uint32_t)rb_hash(at / NEAR, 32);

    return (uint32_t)(block * NEAR + at % NEAR) & (places - 1);
}

static struct rb_site *find_site(uintptr_t pc, bool gate, uint32_t *at)
{
    uint32_t i = home_of(pc, gate);

    for (uint32_t steps = 0; steps < places; steps++, i = (i + 1) & (places - 1)) {
        const uint32_t r = rb_load_acquire(&place[i]);
        if (!r)
            break;
        if (rb_load_relaxed(&record[r].pc) == pc)
            return &record[r];
    }
    *at = i;
    return NULL;
}

// Reuses the records of unloaded libraries, when no others are left.
static void compact_table(void)
{
    uint32_t kept = 0, at;

    for (uint32_t i = 0; i < places; i++)
        rb_store_relaxed(&place[i], 0);
    for (uint32_t r = 1; r <= used; r++) {
        const struct rb_site s = record[r];
        if (s.state == RB_SITE_DEAD)
            continue;
        // A reader on its way to this record compares pc: it finds its site, or takes the lock.
        rb_store_release(&record[++kept].pc, 0);
        record[kept] = s;
        find_site(s.pc, rb_site_is_gate(&s), &at);
        rb_store_release(&place[at], kept);
    }
    used = kept;
    dead = 0;
}

// Fills a record in. A thread that goes through all records sees it as dead until it is complete.
static void fill_record(struct rb_site *s, uintptr_t pc, bool gate)
{
    struct rb_site fresh = {.pc = pc};

    classify_site(&fresh, gate);
    const uint8_t state = fresh.state;
    fresh.state = RB_SITE_DEAD;
    *s = fresh;
    rb_store_release(&s->state, state);
}

static RB_NOINLINE struct rb_site *add_site(uintptr_t pc, bool gate)
{
    struct rb_site *s;
    uint32_t at;

    rb_spin_lock(&lock);
    if (used == room && dead && !queued && try_flips()) { // no other thread has a record in hand
        compact_table();
        let_flips();
    }
    s = find_site(pc, gate, &at);
    if (s && s->state == RB_SITE_DEAD) { // another library, at the same place
        dead--;
        fill_record(s, pc, gate);
    } else if (!s && used < room) {
        if (used == MANY)
            rb_footprint_populate(place, places * sizeof(*place));
        s = &record[used + 1];
        s->state = RB_SITE_DEAD;
        fill_record(s, pc, gate);
        rb_store_release(&used, used + 1);
        rb_store_release(&place[at], used);
    }
    rb_spin_unlock(&lock);
    return s;
}

static struct rb_site *find_or_add(uintptr_t pc, bool gate)
{
    uint32_t at;

    if (!rb_sites_on)
        return NULL;
    struct rb_site *s = find_site(pc, gate, &at);
    return RB_LIKELY(s && s->state != RB_SITE_DEAD) ? s : add_site(pc, gate);
}

struct rb_site *rb_site_at(struct rb_self *me, uintptr_t pc)
{
    (void)me;
    return find_or_add(pc, false);
}

struct rb_site *rb_gate_at(uintptr_t gate)
{
    return find_or_add(gate, true);
}

struct rb_site *rb_site_known(uintptr_t pc)
{
    uint32_t at;

    if (!rb_sites_on || !pc)
        return NULL;
    struct rb_site *gate = find_site(pc, true, &at);
    return gate ? gate : find_site(pc, false, &at);
}

uintptr_t rb_site_before(uintptr_t pc, uint32_t most, uintptr_t *hook)
{
    struct rb_patch_text t;
    uint32_t at;

    if (!rb_sites_on || !find_text(pc, &t) ||
        pc + 16 > t.to) // readers of the code up to pc read a little beyond it
        return 0;
    for (uintptr_t from = pc - 1; from >= t.from + RB_CALL_BYTES && pc - from <= most; from--) {
        const struct rb_site *found = find_site(from, false, &at);
        if (!found)
            continue;
        const struct rb_site s = *found;
        if (s.pc != from || s.state >= RB_SITE_REFUSED)
            return 0;
        // The record may be another site's by now (compact_table): the code itself decides.
        const unsigned char byte = *(volatile unsigned char *)(from - s.bytes_back);
        if (byte != s.awake && byte != s.asleep)
            return 0;
        *hook = find_hook(rb_arch_target(from, s.bytes_back));
        return *hook ? from : 0;
    }
    return 0;
}

uint32_t rb_sites_count(void)
{
    return rb_load_acquire(&used);
}

struct rb_site *rb_site_number(uint32_t i)
{
    return &record[i + 1];
}

// ---- flipping ------------------------------------------------------------------------------------------

// Switches a gate. Its byte is its state: threads that find it open write it under `lock`, others under
// `flips`; so `state` may be the older of the two.
static void write_gate(struct rb_site *s, enum rb_site_state to)
{
    rb_store_relaxed(&s->state, to);
    rb_store_relaxed((unsigned char *)s->pc, to == RB_SITE_ASLEEP ? s->asleep : s->awake);
    rb_fetch_add_relaxed(&flipped, 1);
}

// Reads the gate's byte. Within `flips`, or its library may be unloaded.
static bool is_closed(const struct rb_site *gate)
{
    return rb_load_relaxed((const unsigned char *)gate->pc) == gate->asleep;
}

static void write_site(struct rb_site *s, enum rb_site_state to)
{
    unsigned char *byte = (unsigned char *)s->pc - s->bytes_back;
    const unsigned char was = to == RB_SITE_ASLEEP ? s->awake : s->asleep;

    // Another program has written there (a debugger's breakpoint): the site is no longer ours.
    if (*(volatile unsigned char *)byte != was) {
        s->state = RB_SITE_REFUSED;
        return;
    }
    *(volatile unsigned char *)byte = to == RB_SITE_ASLEEP ? s->asleep : s->awake;
    rb_store_relaxed(&s->state, to);
    rb_fetch_add_relaxed(&flipped, 1);
}

static bool is_due(const struct rb_site *s, enum rb_site_state to)
{
    if (rb_site_is_gate(s))
        return is_closed(s) == (to == RB_SITE_AWAKE);
    return to == RB_SITE_ASLEEP ? s->state <= RB_SITE_QUEUED : s->state == RB_SITE_ASLEEP;
}

// Sites to be flipped: a list, or all sites that are wanted.
struct batch {
    struct rb_site **list;
    uint32_t count;
    bool (*wanted)(struct rb_site *s);
    enum rb_site_state to;
};

static struct rb_site *find_due(const struct batch *b, uint32_t i)
{
    struct rb_site *s = b->list ? b->list[i] : &record[i + 1];

    return is_due(s, b->to) && (!b->wanted || b->wanted(s)) ? s : NULL;
}

// Gives up: no code can be switched here. Then no gate may stay closed either.
static void open_gates(void)
{
    rb_sites_on = false;
    for (uint32_t i = 1; i <= rb_sites_count(); i++)
        if (rb_site_is_gate(&record[i]))
            write_gate(&record[i], RB_SITE_AWAKE);
}

// Switches the batch span by span: all sites in the first one's span, then the rest. `flips` is held.
static uint32_t flip_batch(const struct batch *b)
{
    struct rb_site *s;
    struct rb_patch_text text;
    uint32_t done = 0;

    for (uint32_t i = 0; i < b->count; i++) {
        if (!(s = find_due(b, i)))
            continue;
        if (rb_site_is_gate(s)) {
            write_gate(s, b->to);
            done++;
            continue;
        }
        if (rb_host.sandboxed || !find_text(s->pc, &text))
            continue;
        const struct rb_patch_text span = rb_patch_span(&text, s->pc);
        if (!rb_patch_protect(&span, span.protection | PROT_WRITE)) {
            open_gates();
            break;
        }
        for (uint32_t j = i; j < b->count; j++)
            if ((s = find_due(b, j)) && s->pc - RB_CALL_BYTES >= span.from && s->pc <= span.to) {
                write_site(s, b->to);
                done++;
            }
        rb_patch_protect(&span, span.protection);
    }
    return done;
}

static uint32_t try_flip_batch(const struct batch *b)
{
    uint32_t done = 0;

    if (!rb_sites_on || !try_flips())
        return 0;
    if (!holds)
        done = flip_batch(b);
    let_flips();
    return done;
}

uint32_t rb_sites_flip(struct rb_site **list, uint32_t count, enum rb_site_state to)
{
    return try_flip_batch(&(struct batch){list, count, NULL, to});
}

uint32_t rb_sites_flip_all(bool (*wanted)(struct rb_site *s), enum rb_site_state to)
{
    return try_flip_batch(&(struct batch){NULL, rb_sites_count(), wanted, to});
}

// Makes the thread's hook skip a queued site while other threads write code, until they have done.
static void skip_queued(const struct rb_site *s)
{
    const uint64_t epoch = rb_load_relaxed(&rb_flips_epoch);

    if (epoch % 2 == 0 || s->state != RB_SITE_QUEUED)
        return;
    if (rb_queued.epoch != epoch)
        rb_queued = (struct rb_queued){.epoch = epoch};
    *rb_queued_place(s->pc) = s->pc;
}

// Patches the queued sites. The thread may lose its core here, or wait for others: the clock gives the time
// that took, and the thread's CPU time its cost.
static RB_NOINLINE void patch_queue(struct rb_self *me)
{
    const int saved = errno;

    if (!try_flips())
        return;
    if (!holds) {
        rb_spin_lock(&lock);
        struct rb_site **list = queue;
        const uint32_t count = queued;
        queue = queue == queues[0] ? queues[1] : queues[0];
        queued = 0;
        impatience = 0;
        rb_spin_unlock(&lock);
        const uint64_t start = rb_arch_ticks(), start_ns = rb_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        flip_batch(&(struct batch){list, count, NULL, RB_SITE_ASLEEP});
        const uint64_t ns = rb_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns, calls = ns / PASS_NS;
        me->sampling.away_ticks += rb_arch_ticks() - start;
        me->sampling.away_ns += ns;
        patience = calls < PATIENCE ? PATIENCE : calls < 16 * PATIENCE ? (uint32_t)calls : 16 * PATIENCE;
    }
    let_flips();
    errno = saved;
}

bool rb_site_sleep(struct rb_self *me, struct rb_site *s)
{
    if (!rb_site_can_sleep(s))
        return false;
    if (rb_site_is_gate(s)) { // at once, also while another thread writes code
        rb_spin_lock(&lock);
        if (rb_sites_on && rb_site_is_gate(s)) // else it was moved (compact_table)
            write_gate(s, RB_SITE_ASLEEP);
        rb_spin_unlock(&lock);
        return rb_sites_on;
    }
    if (rb_host.sandboxed) // code stays as it is
        return false;
    if (s->state == RB_SITE_AWAKE) {
        rb_spin_lock(&lock);
        if (s->state == RB_SITE_AWAKE && queued < QUEUE) {
            queue[queued++] = s;
            s->state = RB_SITE_QUEUED;
        }
        rb_spin_unlock(&lock);
    }
    const uint32_t calls = rb_load_relaxed(&impatience) + 1;
    rb_store_relaxed(&impatience, calls);
    if (calls >= rb_load_relaxed(&patience) || rb_load_relaxed(&queued) == QUEUE)
        patch_queue(me);
    skip_queued(s);
    return rb_sites_on;
}

// ---- life ----------------------------------------------------------------------------------------------

int rb_sites_init(size_t memory)
{
    for (room = 1024; (size_t)room * 2 * SITE_SHARE <= memory; room *= 2)
        ;
    places = room * 2;
    const size_t bytes = rb_sites_bytes();
    void *map = rb_pages_map(bytes);
    if (!map)
        return -ENOMEM;
    place = map;
    record = (struct rb_site *)(place + places);
    rb_footprint_map(map, bytes);
    rb_sites_on = true;
    return 0;
}

// Starts anew in the child. The fork was made within a hold, so code and table agree; other threads' locks
// are gone. Their holds stay: one may have been unloading a library, of which the loader still knows though
// it is gone. Then the child leaves its code as it is.
void rb_sites_reset_after_fork(void)
{
    lock = flips = 0;
    rb_flips_epoch += 2 - rb_flips_epoch % 2;
    holds -= holds > 0;
}

void rb_sites_hold(void)
{
    take_flips();
    holds++;
    let_flips();
}

void rb_sites_let(void)
{
    take_flips();
    holds--;
    let_flips();
}

void rb_sites_forget(uintptr_t from, uintptr_t to)
{
    rb_spin_lock(&lock);
    for (uint32_t r = 1; r <= used; r++)
        if (record[r].pc - from < to - from && record[r].state != RB_SITE_DEAD) {
            record[r].state = RB_SITE_DEAD;
            dead++;
        }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < queued; i++)
        if (queue[i]->state != RB_SITE_DEAD)
            queue[kept++] = queue[i];
    queued = kept;
    rb_spin_unlock(&lock);
}

static bool is_code(struct rb_site *s)
{
    return !rb_site_is_gate(s);
}

void rb_sites_freeze(uintptr_t from, uintptr_t to)
{
    struct rb_patch_text t;

    if (!rb_sites_on || rb_load_relaxed(&frozen) || !rb_patch_find(from, to, &t))
        return;
    take_flips();
    if (!frozen && !holds)
        flip_batch(&(struct batch){NULL, rb_sites_count(), is_code, RB_SITE_AWAKE});
    rb_spin_lock(&lock);
    rb_store_relaxed(&frozen, true);
    for (uint32_t r = 1; r <= used; r++)
        if (record[r].bytes_back && record[r].state <= RB_SITE_QUEUED)
            record[r].state = RB_SITE_REFUSED;
    queued = 0;
    rb_spin_unlock(&lock);
    let_flips();
}

size_t rb_sites_bytes(void)
{
    return (room + 1) * sizeof(*record) + places * sizeof(*place);
}

void rb_sites_counts(struct rb_site_counts *counts)
{
    *counts = (struct rb_site_counts){.flips = flipped};
    for (uint32_t r = 1; r <= used; r++) {
        if (rb_site_is_gate(&record[r])) {
            counts->gates++;
            counts->open += record[r].state == RB_SITE_AWAKE;
            continue;
        }
        counts->sites += record[r].state < RB_SITE_REFUSED;
        counts->awake += record[r].state <= RB_SITE_QUEUED;
        counts->refused += record[r].state == RB_SITE_REFUSED;
    }
}
