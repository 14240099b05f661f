// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "inproc/spin.h"

#include <sched.h>

#define PATIENCE 4096u // turns between checks for a missing holder

bool rb_spin_never_yields;
bool (*rb_spin_is_copy)(void);

void rb_spin_wait(rb_spin *lock)
{
    for (unsigned spins = 0; rb_load_relaxed(lock); spins++) {
        if (spins < 64 || rb_spin_never_yields)
            __builtin_ia32_pause();
        else
            sched_yield();
        if (spins % PATIENCE == PATIENCE - 1 && rb_spin_is_copy && rb_spin_is_copy())
            rb_store_release(lock, 0);
    }
}
