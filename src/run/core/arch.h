// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Machine code and threads, as far as the runtime depends on the machine: calls of hooks that are switched
// by one byte (sites.c), stubs of the linker, raw threads. Another machine is another arch_*.c.
#ifndef RB_RUN_CORE_ARCH_H
#define RB_RUN_CORE_ARCH_H

#include "base/ticks.h"
#include "run/core/rt.h"

#define RB_CALL_BYTES 6u // the longest call, and so what must be readable before a return address

// A call that can be switched off by writing one byte.
struct rb_call {
    unsigned char *byte;
    unsigned char awake, asleep;
    uintptr_t target;
};

// Decodes the call that returns to the address. Returns false if the code there is none of the known forms.
// RB_CALL_BYTES before the address are readable.
RB_HIDDEN bool rb_arch_call(uintptr_t return_address, struct rb_call *call);

// Returns the target of such a call, awake or asleep. `back`: distance from the address back to the byte
// that is written.
RB_HIDDEN uintptr_t rb_arch_target(uintptr_t return_address, unsigned back);

// Returns the target of a stub that only jumps on; 0 if the code is no such stub. 16 bytes are readable.
RB_HIDDEN uintptr_t rb_arch_stub(uintptr_t address);

// Starts a thread unknown to libc, on this stack and with this thread pointer. It ends when `run` returns;
// then the kernel writes 0 to `living`. Returns its number, or a negative errno.
RB_HIDDEN long rb_arch_thread(void *stack_top, void *thread_pointer, uint32_t *living, void (*run)(void));

#define RB_ARCH_RETURN 0xc3u // the first byte of the instruction that returns

// Calls the function as if from the place of a return instruction, unless the processor checks returns.
RB_HIDDEN void *rb_arch_call_from(uintptr_t function, const void *a, long b, uintptr_t return_instruction);
RB_HIDDEN int rb_arch_checks_returns(void);

#endif
