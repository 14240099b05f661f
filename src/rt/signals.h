// Signal handlers of the program. Each is called through ours, which gives two things:
//   order   what happened before sigaction, and before the signal was sent from this process (kill,
//           pthread_kill, raise, sigqueue), happens before the handler;
//   guard   a signal that arrives inside the runtime's guard is sent to the thread again with all signals
//   blocked,
//           so the kernel keeps it, with its siginfo, until rb_leave restores the mask: handlers never run on
//           top of half-done work. Faults (SIGSEGV and its like, raised by the instruction itself) cannot
//           wait and are passed through.
#ifndef RB_RT_SIGNALS_H
#define RB_RT_SIGNALS_H

#include "rt/rt.h"

RB_HIDDEN uintptr_t rb_signal_object(int number); // an address of ours that stands for the signal

#endif
