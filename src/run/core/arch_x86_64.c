// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The machine's code and threads (arch.h) on x86-64. Encodings: Intel SDM volume 2.
#include "run/core/arch.h"

#include <sched.h>
#include <sys/syscall.h>

static int32_t read_displacement(const unsigned char *at)
{
    int32_t d;

    __builtin_memcpy(&d, at, sizeof(d));
    return d;
}

bool rb_arch_call(uintptr_t return_address, struct rb_call *call)
{
    unsigned char *direct = (unsigned char *)return_address - 5, *slot = direct - 1;

    if (*direct == 0xe8) { // call rel32; test $imm32,%eax
        *call = (struct rb_call){direct, 0xe8, 0xa9,
                                 return_address + (uintptr_t)(intptr_t)read_displacement(direct + 1)};
        return true;
    }
    if (slot[0] == 0xff && slot[1] == 0x15) { // call *slot(%rip); cmp slot(%rip),%edx
        const uintptr_t *target =
            (const uintptr_t *)(return_address + (uintptr_t)(intptr_t)read_displacement(slot + 2));
        *call = (struct rb_call){slot, 0xff, 0x3b, rb_load_relaxed(target)};
        return true;
    }
    return false;
}

uintptr_t rb_arch_target(uintptr_t return_address, unsigned back)
{
    const uintptr_t there =
        return_address + (uintptr_t)(intptr_t)read_displacement((const unsigned char *)return_address - 4);

    return back == 5 ? there : rb_load_relaxed((const uintptr_t *)there);
}

uintptr_t rb_arch_stub(uintptr_t address)
{
    const unsigned char *at = (const unsigned char *)address;

    if (at[0] == 0xf3 && at[1] == 0x0f && at[2] == 0x1e && at[3] == 0xfa) // endbr64
        at += 4;
    if (at[0] == 0xf2) // bnd
        at++;
    if (at[0] != 0xff || at[1] != 0x25) // jmp *slot(%rip)
        return 0;
    return *(const uintptr_t *)((uintptr_t)at + 6 + (uintptr_t)(intptr_t)read_displacement(at + 2));
}

long rb_arch_thread(void *stack_top, void *thread_pointer, uint32_t *living, void (*run)(void))
{
    const long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |
                       CLONE_SETTLS | CLONE_CHILD_CLEARTID;
    register void *tls __asm__("r8") = thread_pointer;
    register void (*go)(void) __asm__("r12") = run;
    register uint32_t *cleared __asm__("r10") = living;
    long result;

    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "call *%%r12\n\t"
                     "mov %[exit], %%eax\n\t"
                     "xor %%edi, %%edi\n\t"
                     "syscall\n\t"
                     "1:"
                     : "=a"(result)
                     : "a"((long)SYS_clone), "D"(flags), "S"(stack_top), "d"(0L), "r"(cleared), "r"(tls),
                       "r"(go), [exit] "i"(SYS_exit)
                     : "rcx", "r11", "memory");
    return result;
}
