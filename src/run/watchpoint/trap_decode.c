// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a trap to the access that caused it (watchpoints.h).
#include "run/sites/sites.h"
#include "run/watchpoint/arch_access.h"
#include "run/watchpoint/watchpoints.h"

#define REACH 64u // bytes of code between a call site and its access

bool rb_trapped_is_own(const struct rb_self *me, uintptr_t address)
{
    const uintptr_t pointer = (uintptr_t)__builtin_thread_pointer(), below = (uintptr_t)64 << 10;

    return address - me->walk.stack_lo < me->walk.stack_hi - me->walk.stack_lo ||
           address - (pointer - below) < below + 4096;
}

// Returns true if the instruction is an access that the hook does not announce: a spill, a local.
static bool is_of_frame(const struct rb_self *me, const struct rb_code *c)
{
    return c->on_frame && c->address - me->walk.stack_lo < me->walk.stack_hi - me->walk.stack_lo;
}

// Decodes from the call site to the trap: finds the instruction that ends at `pc`. Returns false if it is
// not shown to be the announced access.
static bool find_instruction(const struct rb_self *me, uintptr_t site, uintptr_t pc,
                             const ucontext_t *context, const struct rb_hook *hook, struct rb_code *code)
{
    bool read = false, wrote = false;

    for (uintptr_t at = site; at < pc; at += code->bytes) {
        rb_arch_code(at, context, code);
        if (code->barrier)
            return false;
        if (at + code->bytes == pc)
            return code->memory && code->known &&
                   (code->writes ? hook->writes && !wrote : hook->reads && !read);
        if (!code->memory || is_of_frame(me, code))
            continue;
        if (!code->known)
            return false;
        if (code->size <= hook->size) {
            read |= code->reads;
            wrote |= code->writes;
        }
    }
    return false;
}

bool rb_trapped_find(const struct rb_self *me, uintptr_t watched, unsigned bytes, const ucontext_t *context,
                     struct rb_trapped *caught)
{
    const uintptr_t pc = rb_arch_pc(context);
    const struct rb_hook *hook;
    struct rb_code code;
    uintptr_t function;

    caught->site = rb_site_before(pc, REACH, &function);
    if (!caught->site || !(hook = rb_hook_at(function)) ||
        !find_instruction(me, caught->site, pc, context, hook, &code) || code.size > hook->size)
        return false;
    uintptr_t address = code.address;
    if (code.lost) {
        if (!hook->aligned || code.size != hook->size || bytes > code.size)
            return false;
        address = watched & ~(uintptr_t)(code.size - 1);
    }
    if (address >= watched + bytes || watched >= address + code.size)
        return false;
    caught->touch = (struct rb_memory_access){address, code.size, code.writes, false, true};
    return true;
}
