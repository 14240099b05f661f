// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The functions of agent_sync.def: trampolines without a frame. Each increments the thread's clock and
// jumps to the real function, without knowledge of its parameters. So variadic functions and functions that
// return twice (vfork) need no special code.
//
// Invariant: the clock is incremented before the real function begins. A thread that sees an effect of that
// function also finds the clock incremented (docs/explanation/watch.md, "Why a clock race is one").
#include <dlfcn.h>
#include <errno.h>

#include "watch/agent/agent.h"

RB_TLS struct rb_watched *rb_agent_me;

// Before our constructor the word holds a stub, which looks the real function up. After it all functions
// are known: dlsym takes the loader's lock. A thread that forks or unloads must not wait for that inside a
// call of sched_yield or free.
#define RB_BUMPS(name)                                    \
    __asm__(".pushsection .rodata\n"                      \
            "7: .string \"" #name "\"\n"                  \
            ".popsection\n"                               \
            ".pushsection .text\n"                        \
            ".globl " #name "\n"                          \
            ".type " #name ",@function\n"                 \
            ".balign 16\n" #name ":\n"                    \
            "    .cfi_startproc\n"                        \
            "    endbr64\n"                               \
            "    movq rb_agent_me@gottpoff(%rip), %r11\n" \
            "    movq %fs:(%r11), %r11\n"                 \
            "    testq %r11, %r11\n"                      \
            "    jz 1f\n"                                 \
            "    incq (%r11)\n"                           \
            "1:  jmp *8f(%rip)\n"                         \
            "    .cfi_endproc\n"                          \
            ".size " #name ",.-" #name "\n"               \
            "9:  endbr64\n"                               \
            "    leaq 8f(%rip), %r11\n"                   \
            "    pushq %r11\n"                            \
            "    leaq 7b(%rip), %r11\n"                   \
            "    pushq %r11\n"                            \
            "    jmp rb_agent_resolve\n"                  \
            ".popsection\n"                               \
            ".pushsection rb_agent_real,\"aw\"\n"         \
            ".balign 8\n"                                 \
            "8:  .quad 9b\n"                              \
            "    .quad 7b\n"                              \
            ".popsection\n");
#include "watch/agent/agent_sync.def"

// In: the word and the name on the stack, all arguments in their registers.
__asm__(".pushsection .text\n"
        ".type rb_agent_resolve,@function\n"
        "rb_agent_resolve:\n"
        "    pushq %rax\n"
        "    pushq %rdi\n"
        "    pushq %rsi\n"
        "    pushq %rdx\n"
        "    pushq %rcx\n"
        "    pushq %r8\n"
        "    pushq %r9\n"
        "    pushq %r10\n"
        "    subq $136, %rsp\n"
        "    movups %xmm0, (%rsp)\n"
        "    movups %xmm1, 16(%rsp)\n"
        "    movups %xmm2, 32(%rsp)\n"
        "    movups %xmm3, 48(%rsp)\n"
        "    movups %xmm4, 64(%rsp)\n"
        "    movups %xmm5, 80(%rsp)\n"
        "    movups %xmm6, 96(%rsp)\n"
        "    movups %xmm7, 112(%rsp)\n"
        "    movq 208(%rsp), %rdi\n" // the word
        "    movq 200(%rsp), %rsi\n" // the name
        "    call rb_agent_find\n"
        "    movq %rax, %r11\n"
        "    movups (%rsp), %xmm0\n"
        "    movups 16(%rsp), %xmm1\n"
        "    movups 32(%rsp), %xmm2\n"
        "    movups 48(%rsp), %xmm3\n"
        "    movups 64(%rsp), %xmm4\n"
        "    movups 80(%rsp), %xmm5\n"
        "    movups 96(%rsp), %xmm6\n"
        "    movups 112(%rsp), %xmm7\n"
        "    addq $136, %rsp\n"
        "    popq %r10\n"
        "    popq %r9\n"
        "    popq %r8\n"
        "    popq %rcx\n"
        "    popq %rdx\n"
        "    popq %rsi\n"
        "    popq %rdi\n"
        "    popq %rax\n"
        "    addq $16, %rsp\n"
        "    jmp *%r11\n"
        ".size rb_agent_resolve,.-rb_agent_resolve\n"
        ".popsection\n");

// Functions that changed their layout: the plain look-up may find the old one.
static const struct {
    const char *name, *version;
} versioned[] = {{"pthread_cond_wait", "GLIBC_2.3.2"},
                 {"pthread_cond_timedwait", "GLIBC_2.3.2"},
                 {"pthread_cond_destroy", "GLIBC_2.3.2"},
                 {"pthread_cond_signal", "GLIBC_2.3.2"},
                 {"pthread_cond_broadcast", "GLIBC_2.3.2"}};

static long do_nothing(void)
{
    return 0;
}

// The loader itself may call free during a look-up: that block is not freed, once.
static RB_TLS bool looking;

void *rb_agent_find(void **slot, const char *name)
{
    const int saved = errno;
    void *found = NULL;

    if (looking)
        return (void *)(uintptr_t)do_nothing;
    looking = true;
    for (unsigned i = 0; i < RB_LENGTH(versioned) && !found; i++)
        if (!__builtin_strcmp(versioned[i].name, name))
            found = dlvsym(RTLD_NEXT, name, versioned[i].version);
    if (!found)
        found = dlsym(RTLD_NEXT, name);
    looking = false;
    errno = saved;
    if (!found)
        return (void *)(uintptr_t)do_nothing; // no caller without us
    rb_store_relaxed(slot, found);
    return found;
}

// struct rb_next of all files, and those of the trampolines.
extern struct rb_next __start_rb_agent_real[] RB_HIDDEN, __stop_rb_agent_real[] RB_HIDDEN;

void rb_agent_find_all(void)
{
    for (struct rb_next *n = __start_rb_agent_real; n < __stop_rb_agent_real; n++)
        rb_agent_find(&n->function, n->name);
}
