// Windows: every site is awake, accesses are first counted and then all taken, or thinned by address in every
// other window (address_filter.h), until what was saved for it is spent.
#include "inproc/clocks.h"
#include "run/access/address_filter.h"
#include "run/sampler/adaptive/adaptive.h"
#include "run/sampler/adaptive/bursts.h"

#define COUNT_GAP 31u // while counting; what is left of it afterwards hides first calls
#define GATED_NS  4.5 // of a call that is only counted, one in COUNT_GAP + 1 of them by a question

void rb_window_end(uint32_t from)
{
    rb_thin_end();
    rb_cas_strong_acq_rel(&rb_now.mode, &from, CLOSING);
}

// A window takes as much as there is, half of it at most kept back, and four times what it takes to wake
// everybody.
static int64_t window_ticks(void)
{
    const int64_t half = rb_load_relaxed(&rb_now.saved) / 2;
    const int64_t least = 4 * (int64_t)rb_book.flip_ticks;

    return half > least ? half : least;
}

// The thread whose accesses were the last that had to be counted.
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
        rb_thin_begin(rb_rng_next(&rb_book.rng));
    else
        rb_thin_end();
    rb_store_release(&rb_now.mode, OPEN);
}

enum rb_take rb_window_count(uint64_t passed, uint64_t *gap)
{
    *gap = COUNT_GAP;
    if (passed > 2 * COUNT_GAP) // while accesses were thinned, before the window
        passed = 1;
    if (passed > COUNT_GAP)
        rb_fetch_add_relaxed(&rb_now.counted, passed);
    if (rb_sub_fetch_relaxed(&rb_now.left, (int64_t)passed) < 0)
        end_counting();
    return RB_PASS;
}

// A thread that is in a body without hooks comes to the next gate first; what it does until then would not be
// counted.
bool rb_window_is_ahead(void)
{
    struct rb_site_counts counts;

    if (rb_book.ahead)
        return true;
    rb_sites_counts(&counts);
    if (!counts.gates)
        return true;
    rb_sites_flip_all(rb_burst_give_window, RB_SITE_AWAKE);
    rb_book.ahead = true;
    return false;
}

void rb_window_open(void)
{
    rb_book.ahead = false;
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
