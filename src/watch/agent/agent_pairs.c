// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Pairs found: the handler hands them over by a small ring, and the agent's thread sorts them. One pair of
// places is one race, for all threads and addresses; its best verdict counts. Candidates are kept until the
// end. Then it is known which of them a collision has confirmed.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "inproc/host.h"
#include "watch/agent/agent.h"

#define RING     32u
#define KNOWN    512u
#define KEPT     128u
#define MOST     2000u // delays that are spent on a candidate
#define PATIENCE 100u  // turns to wait for one of its places

enum { EMPTY, FILLING, READY };

static struct {
    uint32_t state;
    struct rb_pair pair;
} ring[RING];

struct known {
    uint64_t key;       // 0: free
    uintptr_t place[2]; // [0]: 0 if it is not known
    enum rb_verdict verdict;
    uint32_t kept; // index, or KEPT
    uint32_t tries, waited;
    unsigned now; // the side that has its turn
    struct {
        struct rb_code_module *module;
        uint32_t site;
    } side[2];
};
static struct known known[KNOWN];
static uint32_t known_count, next_return;
static struct rb_pair kept[KEPT];
static uint32_t kept_count;
static rb_spin work_lock; // held while pairs are sorted; not in the handler

// ---- in the handler ------------------------------------------------------------------------------------

struct rb_pair *rb_pair_new(void)
{
    for (unsigned i = 0; i < RING; i++) {
        uint32_t empty = EMPTY;
        if (rb_cas_strong_acquire(&ring[i].state, &empty, FILLING))
            return &ring[i].pair;
    }
    RB_COUNTED(pairs_lost);
    return NULL;
}

void rb_pair_found(struct rb_pair *p)
{
    for (unsigned i = 0; i < RING; i++)
        if (p == &ring[i].pair)
            rb_store_release(&ring[i].state, READY);
    if (p->verdict == RB_VERDICT_CONFIRMED)
        rb_agent_wake();
}

// ---- the agent's thread --------------------------------------------------------------------------------

static uint64_t key_of(const struct rb_pair *p)
{
    const uint64_t a = p->verdict == RB_VERDICT_CHANGED ? 1 : p->side[0].stack.pc[0],
                   b = p->side[1].stack.pc[0];
    const uint64_t low = a < b ? a : b, high = a < b ? b : a;

    return rb_mix64(rb_mix64(low) + 3 * high) | 1;
}

static struct known *look_up(uint64_t key)
{
    for (uint32_t i = 0; i < known_count; i++)
        if (known[i].key == key)
            return &known[i];
    if (known_count == KNOWN)
        return NULL;
    known[known_count] = (struct known){.key = key, .kept = KEPT};
    return &known[known_count++];
}

static void keep_pair(struct known *k, const struct rb_pair *p)
{
    if (k->kept == KEPT && kept_count < KEPT)
        k->kept = kept_count++;
    if (k->kept < KEPT)
        kept[k->kept] = *p;
}

static void sort_in(const struct rb_pair *p)
{
    const uint32_t before = known_count;
    struct known *k = look_up(key_of(p));

    if (!k) {
        RB_COUNTED(pairs_lost);
        return;
    }
    if (known_count == before && p->verdict <= k->verdict)
        return;
    k->verdict = p->verdict;
    k->place[0] = p->verdict == RB_VERDICT_CHANGED ? 0 : p->side[0].stack.pc[0];
    k->place[1] = p->side[1].stack.pc[0];
    for (int i = 0; i < 2; i++) {
        k->side[i].module = p->side[i].module;
        k->side[i].site = p->side[i].module ? p->side[i].site : UINT32_MAX;
    }
    if (p->verdict == RB_VERDICT_CONFIRMED)
        rb_report_pair(p);
    else
        keep_pair(k, p);
}

void rb_pairs_work(void)
{
    const struct timespec pause = {0, 1000000};

    while (!rb_spin_try(&work_lock)) // a report may be on its way
        syscall(SYS_nanosleep, &pause, NULL);
    for (unsigned i = 0; i < RING; i++)
        if (rb_load_acquire(&ring[i].state) == READY) {
            sort_in(&ring[i].pair);
            rb_store_release(&ring[i].state, EMPTY);
        }
    rb_spin_unlock(&work_lock);
}

// Returns true if a changed value adds nothing: the place has a pair of another kind.
static bool is_explained(const struct known *k)
{
    for (uint32_t i = 0; k->verdict == RB_VERDICT_CHANGED && i < known_count; i++)
        if (known[i].verdict > RB_VERDICT_CHANGED &&
            (known[i].place[0] == k->place[1] || known[i].place[1] == k->place[1]))
            return true;
    return false;
}

void rb_pairs_list(void)
{
    static bool wanted[KEPT];
    uint64_t count = 0;

    for (uint32_t i = 0; i < known_count; i++)
        if (known[i].verdict != RB_VERDICT_CONFIRMED && !is_explained(&known[i])) {
            count++;
            if (known[i].kept < KEPT)
                wanted[known[i].kept] = true;
        }
    rb_counts.candidates = count;
    if (rb_agent.candidates)
        rb_report_candidates(kept, wanted, kept_count);
}

static bool is_there(const struct known *k, unsigned side)
{
    return k->side[side].site != UINT32_MAX && k->side[side].module->from;
}

// Returns true while the place is planted and no thread has come, for up to a second; then the other place
// has its turn.
static bool keeps_waiting(struct known *k, unsigned side)
{
    struct rb_code_module *m = k->side[side].module;
    const uint32_t site = k->side[side].site;

    if (rb_load_acquire(&m->state[site]) != RB_SITE_SLOW)
        return false;
    if (++k->waited < PATIENCE)
        return true;
    rb_site_withdraw(m, site);
    return false;
}

// Goes back to the places of a candidate, to one and the other in turn.
unsigned rb_pairs_return(unsigned most)
{
    unsigned planted = 0;

    for (uint32_t i = 0; i < known_count && planted < most; i++) {
        struct known *k = &known[next_return++ % known_count];
        if (k->verdict != RB_VERDICT_CLOCK || k->tries >= MOST ||
            (is_there(k, k->now) && keeps_waiting(k, k->now)))
            continue;
        k->now ^= 1;
        k->waited = 0;
        if (!is_there(k, k->now))
            continue;
        k->tries++;
        // A site that is planted without delay gets one.
        rb_site_withdraw(k->side[k->now].module, k->side[k->now].site);
        planted += rb_site_plant(k->side[k->now].module, k->side[k->now].site, RB_SITE_SLOW);
    }
    return planted;
}

void rb_pairs_after_fork(void)
{
    for (unsigned i = 0; i < RING; i++)
        ring[i].state = EMPTY;
    known_count = kept_count = next_return = 0;
    work_lock = 0;
}
