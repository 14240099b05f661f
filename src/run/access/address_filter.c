// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The state of the address filter (address_filter.h).
#include "run/access/address_filter.h"

uint64_t rb_thin;
RB_TLS uintptr_t rb_common[RB_THIN_PLACES];

void rb_thin_begin(uint64_t random)
{
    rb_store_relaxed(&rb_thin, random | 1);
}

void rb_thin_end(void)
{
    if (rb_load_relaxed(&rb_thin))
        rb_store_relaxed(&rb_thin, 0);
}
