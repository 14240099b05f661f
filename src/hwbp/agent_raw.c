// The bare system call, with libc's convention for errors. All files of the agent are built with
// syscall=rb_agent_syscall, so that what the agent does is never taken for the program's synchronisation.
#include <errno.h>
#include <unistd.h>

#include "rt/rt.h"

__asm__(".pushsection .text\n"
        ".globl rb_agent_syscall\n"
        ".hidden rb_agent_syscall\n"
        ".type rb_agent_syscall,@function\n"
        "rb_agent_syscall:\n" // (number, a, b, c, d, e, f)
        "    .cfi_startproc\n"
        "    endbr64\n"
        "    movq %rdi, %rax\n"
        "    movq %rsi, %rdi\n"
        "    movq %rdx, %rsi\n"
        "    movq %rcx, %rdx\n"
        "    movq %r8, %r10\n"
        "    movq %r9, %r8\n"
        "    movq 8(%rsp), %r9\n"
        "    syscall\n"
        "    cmpq $-4095, %rax\n"
        "    jae 1f\n"
        "    ret\n"
        "1:  movl %eax, %edi\n"
        "    negl %edi\n"
        "    jmp rb_agent_failed\n"
        "    .cfi_endproc\n"
        ".size rb_agent_syscall,.-rb_agent_syscall\n"
        ".popsection\n");

RB_HIDDEN long rb_agent_failed(int error);
RB_HIDDEN long rb_agent_failed(int error)
{
    errno = error;
    return -1;
}
