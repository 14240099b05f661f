// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bursts of sites and gates. A site that wakes has a number of calls taken; a gate stays open for as many
// passes. All bursts have one length, which follows the budget. docs/explanation/sampling.md.
#include "run/sampler/adaptive/adaptive.h"

#define MOST_BURST 4096u // calls

uint32_t rb_burst;

bool rb_burst_give(struct rb_site *s)
{
    s->left = (uint16_t)rb_burst;
    return true;
}

bool rb_burst_give_window(struct rb_site *s)
{
    if (rb_site_is_gate(s))
        s->left = UINT16_MAX;
    return rb_site_is_gate(s);
}

void rb_burst_give_again(void)
{
    for (uint32_t i = 0; i < rb_sites_count(); i++) {
        struct rb_site *s = rb_site_number(i);
        if (s->state == RB_SITE_AWAKE && !s->left && s->taken)
            rb_burst_give(s);
    }
}

bool rb_burst_is_spent(struct rb_site *s)
{
    return s->left == 0 && (rb_site_is_gate(s) || !s->gate);
}

void rb_burst_resize(void)
{
    const int64_t allowance = rb_load_relaxed(&rb_now.allowance);

    if (allowance < rb_book.earned && rb_burst > RB_ALWAYS)
        rb_burst -= rb_burst / 4;
    else if (allowance > 2 * rb_book.earned && rb_burst < MOST_BURST)
        rb_burst += rb_burst / 4 + 1;
}
