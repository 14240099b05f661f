// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Episodes: synchronisation is followed. Between them the sampler is paused, as with sampler=none, until
// the next episode is earned or new code runs.
#include "run/access/access.h"
#include "run/access/history.h"
#include "run/core/upcalls.h"
#include "run/record/record.h"
#include "run/sampler/adaptive/adaptive.h"

#define BRIEF_SHARE 32 // a brief episode, for new code alone, costs 1/BRIEF_SHARE of an account's capacity

// Returns the allowance at which an episode begins.
int64_t rb_episode_price(void)
{
    const int64_t least = 8 * (int64_t)rb_book.flip_ticks, share = rb_book.most / RB_EPISODE_SHARE;

    return least > share ? least : share;
}

// The order of the stores is that of docs/explanation/runtime.md, section 3.
void rb_episode_resume(void)
{
    rb_store_release(&rb_process.paused, false);
    rb_accesses_forget_all();
    rb_store_release(&rb_now.taking, true);
    rb_book.episodes++;
}

void rb_episode_begin(void)
{
    rb_store_relaxed(&rb_book.episode_from, rb_load_relaxed(&rb_now.synced));
    rb_store_relaxed(&rb_book.episode_earned, 0);
    rb_book.calibrating = false; // else the ticker would resume an episode that new code began anew
    rb_episode_resume();
}

void rb_episode_end(void)
{
    rb_store_release(&rb_now.taking, false);
    rb_store_release(&rb_process.paused, true);
    rb_watchpoints_pause();
}

bool rb_adaptive_taking(void)
{
    return rb_load_acquire(&rb_now.taking);
}

bool rb_adaptive_affords(void)
{
    return rb_adaptive_taking() && rb_load_relaxed(&rb_now.allowance) > 0;
}

// Returns true if the allowance is spent, and most of the episode's share of it on synchronisation.
bool rb_episode_is_exhausted(void)
{
    const int64_t synced =
        (int64_t)(rb_load_relaxed(&rb_now.synced) - rb_load_relaxed(&rb_book.episode_from));
    const int64_t earned = rb_load_relaxed(&rb_book.episode_earned);

    return !rb_adaptive_is_open() && 2 * synced > earned + rb_book.most / RB_EPISODE_SHARE && !rb_recording;
}

// Returns true if a site with `taken` calls taken, called during a pause, may begin an episode. The episode
// is paid for in advance, within a limit of debt.
bool rb_episode_may_begin(uint16_t taken)
{
    const int64_t owed = rb_book.most / (taken ? 2 * RB_OVERDRAFT_SHARE : 2);

    return rb_now.threaded && taken < RB_ALWAYS && rb_load_relaxed(&rb_now.allowance) >= -owed &&
           !rb_load_relaxed(&rb_book.wait.unknown);
}

// Begins a brief episode at once, for new code alone: the other access of a race usually comes soon.
// Returns false if none may begin now.
bool rb_episode_begin_brief(uint16_t taken)
{
    if (!rb_episode_may_begin(taken) || !rb_spin_try(&rb_book.changing))
        return false;
    if (rb_is_paused()) {
        const uint64_t synced = rb_load_relaxed(&rb_now.synced);
        rb_adaptive_grant_grace();
        rb_store_relaxed(&rb_now.brief, synced + (uint64_t)rb_book.most / BRIEF_SHARE);
        rb_episode_begin();
    }
    rb_spin_unlock(&rb_book.changing);
    return true;
}

// Ends an exhausted episode before the ticker does, so that costly synchronisation adds no more debt. Sites
// sleep at their next call.
RB_NOINLINE void rb_episode_cut(void)
{
    if (rb_recording || !rb_spin_try(&rb_book.changing))
        return;
    if (!rb_is_paused())
        rb_episode_end();
    rb_store_relaxed(&rb_now.brief, 0);
    rb_spin_unlock(&rb_book.changing);
}
