// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Windows: every site is awake; accesses are first counted, then taken until the savings for the window are
// spent. Every other window thins its accesses by address (address_filter.h).
#include "inproc/clocks.h"
#include "run/access/address_filter.h"
#include "run/sampler/adaptive/adaptive.h"

#define GATED_NS 4.5 // of a call that is only counted; one in RB_GAP + 1 of them asks the sampler

void rb_window_end(uint32_t from)
{
    rb_filter_end();
    rb_cas_strong_acq_rel(&rb_now.mode, &from, CLOSING);
}

// Returns the ticks that a window may spend: half of the savings, but at least four times the cost of
// waking all sites.
static int64_t window_ticks(void)
{
    const int64_t half = rb_load_relaxed(&rb_now.saved) / 2;
    const int64_t least = 4 * (int64_t)rb_book.flip_ticks;

    return half > least ? half : least;
}

// Ends COUNTING, on the thread that counted the last access, and begins OPEN.
static RB_NOINLINE void end_counting(void)
{
    uint32_t mode = COUNTING;

    if (!rb_cas_strong_acq_rel(&rb_now.mode, &mode, CLOSING))
        return;
    const uint64_t n = rb_load_relaxed(&rb_now.counted);
    const double ns =
        (double)(rb_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - rb_book.count_cpu) - (double)n * GATED_NS;
    rb_book.counted += n;
    rb_book.counted_ns += ns > 0 ? ns : 0;
    rb_store_relaxed(&rb_now.left, window_ticks());
    rb_store_relaxed(&rb_now.counted, 0);
    if (rb_book.windows % 2 == 0)
        rb_filter_begin(rb_rng_next(&rb_book.rng));
    else
        rb_filter_end();
    rb_store_release(&rb_now.mode, OPEN);
}

enum rb_take rb_window_count(uint64_t passed, uint64_t *gap)
{
    *gap = RB_GAP;
    if (passed > 2 * RB_GAP) // the filter passed over them before the window
        passed = 1;
    if (passed > RB_GAP)
        rb_fetch_add_relaxed(&rb_now.counted, passed);
    if (rb_sub_fetch_relaxed(&rb_now.left, (int64_t)passed) < 0)
        end_counting();
    return RB_PASS;
}

// Accesses of a thread in a plain copy are not counted until the thread comes to a gate. So the gates open
// a turn before the window.
bool rb_window_prepare(void)
{
    struct rb_site_counts counts;

    if (rb_book.prepared)
        return true;
    rb_sites_counts(&counts);
    if (!counts.gates)
        return true;
    rb_sites_flip_all(rb_burst_give_window, RB_SITE_AWAKE);
    rb_book.prepared = true;
    return false;
}

void rb_window_open(void)
{
    rb_book.prepared = false;
    rb_adaptive_wake(NULL);
    rb_now.left = RB_COUNTED;
    rb_now.counted = 0;
    rb_book.opened_ns = rb_clock_ns(CLOCK_MONOTONIC);
    rb_book.count_cpu = rb_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    rb_book.windows++;
    rb_store_release(&rb_now.mode, COUNTING);
}

void rb_window_close(void)
{
    rb_book.in_windows += rb_exchange_relaxed(&rb_now.counted, 0);
    rb_sites_flip_all(rb_burst_is_spent, RB_SITE_ASLEEP);
    rb_store_release(&rb_now.mode, QUIET);
}
