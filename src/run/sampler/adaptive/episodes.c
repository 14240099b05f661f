// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Episodes: synchronisation is followed. Between them the sampler is paused, as with sampler=none, until
// the next episode is earned.
#include "run/access/access.h"
#include "run/access/history.h"
#include "run/core/upcalls.h"
#include "run/record/record.h"
#include "run/sampler/adaptive/adaptive.h"

// Returns the allowance at which an episode begins.
int64_t rb_episode_price(void)
{
    const int64_t least = 8 * (int64_t)rb_book.flip_ticks, part = rb_book.most / RB_PART;

    return least > part ? least : part;
}

// The order of the stores is that of docs/explanation/runtime.md, section 3.
void rb_episode_begin(void)
{
    rb_store_relaxed(&rb_book.episode_from, rb_load_relaxed(&rb_now.synced));
    rb_store_relaxed(&rb_book.episode_earned, 0);
    rb_rmw_switch(true);
    rb_store_release(&rb_process.paused, false);
    rb_accesses_forget_all();
    rb_store_release(&rb_now.taking, true);
    rb_book.episodes++;
}

void rb_episode_end(void)
{
    rb_store_release(&rb_now.taking, false);
    rb_store_release(&rb_process.paused, true);
    rb_rmw_switch(false);
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

    return !rb_adaptive_is_open() && 2 * synced > earned + rb_book.most / RB_PART && !rb_recording;
}

bool rb_episode_begin_for_new(void)
{
    if (!rb_now.threaded || rb_adaptive_is_overdrawn() || !rb_spin_try(&rb_book.changing))
        return false;
    if (rb_is_paused())
        rb_episode_begin();
    rb_spin_unlock(&rb_book.changing);
    return true;
}

// Ends an exhausted episode before the ticker does, so that costly synchronisation adds no more debt. Sites
// sleep at their next call.
RB_NOINLINE void rb_episode_cut(void)
{
    if (!rb_spin_try(&rb_book.changing))
        return;
    if (!rb_is_paused())
        rb_episode_end();
    rb_spin_unlock(&rb_book.changing);
}
