#include "run/access/address_filter.h"

uint64_t rb_thin;
RB_TLS uintptr_t rb_common[RB_THIN_PLACES];

void rb_thin_begin(uint64_t random)
{
    __atomic_store_n(&rb_thin, random | 1, __ATOMIC_RELAXED);
}

void rb_thin_end(void)
{
    if (__atomic_load_n(&rb_thin, __ATOMIC_RELAXED))
        __atomic_store_n(&rb_thin, 0, __ATOMIC_RELAXED);
}
