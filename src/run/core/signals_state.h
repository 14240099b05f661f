// What a thread keeps of real-time signals that wait for rb_leave (signals_queue.c).
#ifndef RB_RUN_CORE_SIGNALS_STATE_H
#define RB_RUN_CORE_SIGNALS_STATE_H

#include "base/types.h"

enum { RB_SIGNALS_KEPT = 8 };

struct rb_kept_signal {
    uint64_t order;    // of arrival
    uint32_t number;   // 0: free. Only its own handler gives it up, which the kernel runs one at a time
    char contents[48]; // as the kernel writes them: the rest of a siginfo_t is zero
};

// Written by the thread's signal handlers.
struct rb_signal_queue {
    struct rb_kept_signal kept[RB_SIGNALS_KEPT];
    uint64_t arrivals;
    uint32_t count;      // of those kept
    uint64_t overflowed; // a bit for each signal, from 1: the kernel had no room for a token, and one without
                         // contents was sent
};

#endif
