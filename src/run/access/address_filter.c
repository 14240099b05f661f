// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The state of the address filter (address_filter.h).
#include "run/access/address_filter.h"

uint64_t rb_filter_number;
RB_TLS uintptr_t rb_common[RB_FILTER_PLACES];

void rb_filter_begin(uint64_t random)
{
    rb_store_relaxed(&rb_filter_number, random | 1);
}

void rb_filter_end(void)
{
    if (rb_load_relaxed(&rb_filter_number))
        rb_store_relaxed(&rb_filter_number, 0);
}
