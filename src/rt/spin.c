#include "rt/spin.h"

#include <sched.h>

bool rb_spin_never_yields;

void rb_spin_wait(rb_spin *lock)
{
    for (unsigned spins = 0; __atomic_load_n(lock, __ATOMIC_RELAXED); spins++) {
        if (spins < 64 || rb_spin_never_yields)
            __builtin_ia32_pause();
        else
            sched_yield();
    }
}
