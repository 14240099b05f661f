// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The states of rb_process.paused (rt.h), read by arch_hooks_*.S as well.
#ifndef RB_RUN_CORE_PAUSE_H
#define RB_RUN_CORE_PAUSE_H

#define RB_PAUSED    1    // synchronisation and accesses are not tracked
#define RB_COUNTS    2    // synchronisation operations are counted
#define RB_PAUSED_AT 8662 // the place of `paused` in struct rb_process, which rt.h verifies

#endif
