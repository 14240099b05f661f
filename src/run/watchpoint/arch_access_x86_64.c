// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lengths and memory operands of x86-64 instructions, as far as compilers use them between a hook's call
// and the access that it announces (inproc/x86/x86_decode.h).
//
// Invariant: an unknown instruction is a barrier, where a walk from instruction to instruction stops. A
// wrong "unknown" loses a trap. No other form is taken for a plain access: `lock`, xchg, cmpxchg, xadd and
// string operations are barriers.
#include "inproc/x86/x86_decode.h"
#include "run/watchpoint/arch_access.h"

#define RSP 4
#define RBP 5

static uintptr_t value_of(const ucontext_t *context, unsigned number)
{
    static const uint8_t gregs[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                      REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

    return (uintptr_t)context->uc_mcontext.gregs[gregs[number]];
}

// Returns the address of the operand. The registers are those after the instruction.
static uintptr_t address_of(const struct rb_x86 *x, uintptr_t pc, const ucontext_t *context)
{
    uintptr_t address = (uintptr_t)x->displacement;

    if (x->base == RB_X86_RIP)
        address += pc + x->length;
    else if (x->base != RB_X86_NONE)
        address += value_of(context, x->base);
    if (x->index != RB_X86_NONE)
        address += value_of(context, x->index) << x->scale;
    return address;
}

// Returns the registers of the address, a bit each.
static uint16_t registers_of(const struct rb_x86 *x)
{
    return (uint16_t)((x->base < RB_X86_RIP ? 1u << x->base : 0) |
                      (x->index != RB_X86_NONE ? 1u << x->index : 0));
}

// Returns true if the code behind the instruction is not decoded. The old forms are not plain if they are repeated, but
// for pause.
static bool is_barrier(const struct rb_x86 *x)
{
    const bool repeats = x->flags & RB_X86_REPNE || (x->flags & RB_X86_REP && x->modrm_at);

    return !(x->flags & RB_X86_PLAIN) || x->flags & RB_X86_ADDRESS32 || x->segment != RB_X86_FLAT ||
           x->written & 1u << RSP || (x->map == 0 && repeats);
}

void rb_arch_code(uintptr_t pc, const ucontext_t *context, struct rb_code *code)
{
    struct rb_x86 x;

    *code = (struct rb_code){.barrier = true};
    if (!rb_x86_decode((const uint8_t *)pc, RB_CODE_BYTES, &x) || is_barrier(&x))
        return;
    code->barrier = false;
    code->bytes = x.length;
    code->memory = x.flags & (RB_X86_READS | RB_X86_WRITES | RB_X86_OPEN);
    if (!code->memory)
        return;
    code->known = !(x.flags & (RB_X86_OPEN | RB_X86_PART));
    code->reads = code->known && x.flags & RB_X86_READS;
    code->writes = code->known && x.flags & RB_X86_WRITES;
    code->size = code->known ? x.size : 0;
    code->on_frame = x.base == RSP || x.base == RBP;
    code->lost = (registers_of(&x) & x.written) != 0;
    code->address = address_of(&x, pc, context);
}
