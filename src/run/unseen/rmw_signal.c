// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Signals of threads that run in cells. An int3 of ours leads into a cell. A handler of the program sees the
// thread at its own code, not in a cell: backtraces, profiles and fault handlers find the places they know.
#include <sys/mman.h>
#include <ucontext.h>

#include "base/ticks.h"
#include "run/core/upcalls.h"
#include "run/sites/patch.h"
#include "run/unseen/rmw.h"
#include "run/unseen/rmw_modules.h"

#define HEAT       256u // traps of a site within HEAT_TICKS, after which it is given up
#define HEAT_TICKS (UINT64_C(1) << 31)

uint64_t rb_rmw_given_up;

// ---- readers -------------------------------------------------------------------------------------------

static void begin_reading(void)
{
    rb_fetch_add_seq_cst(&rb_rmw_readers, 1);
}

static void end_reading(void)
{
    rb_fetch_sub_acq_rel(&rb_rmw_readers, 1);
}

// ---- traps ---------------------------------------------------------------------------------------------

// Puts the first byte of a site back, which is all that an int3 has changed.
static void give_up(struct rb_rmw_site *s)
{
    struct rb_patch_text text;

    if (rb_host.sandboxed || !rb_spin_try(&rb_rmw_lock))
        return;
    if (s->in && rb_patch_find(s->pc, s->pc + 1, &text)) {
        const struct rb_patch_text span = rb_patch_span(&text, s->pc);
        if (rb_patch_protect(&span, span.protection | PROT_WRITE)) {
            *(volatile unsigned char *)s->pc = s->original[0];
            s->in = false;
            s->way = RB_RMW_REFUSED;
            rb_fetch_add_relaxed(&rb_rmw_given_up, 1);
            rb_patch_protect(&span, span.protection);
        }
    }
    rb_spin_unlock(&rb_rmw_lock);
}

static void count_trap(struct rb_rmw_site *s)
{
    const uint64_t now = rb_arch_ticks();

    if (now - rb_load_relaxed(&s->since) > HEAT_TICKS) {
        rb_store_relaxed(&s->since, now);
        rb_store_relaxed(&s->hits, 0);
    }
    if (rb_add_fetch_relaxed(&s->hits, 1) >= HEAT)
        give_up(s);
}

bool rb_rmw_trap(const siginfo_t *info, void *given)
{
    ucontext_t *context = given;
    const uintptr_t pc = (uintptr_t)context->uc_mcontext.gregs[REG_RIP] - 1;
    struct rb_rmw_module *m;

    if (!rb_rmw_traps || info->si_code <= 0) // one that was sent
        return false;
    begin_reading();
    struct rb_rmw_site *s = rb_rmw_site_of_code(pc, &m);
    const bool ours = s && s->pc == pc;
    if (ours) {
        context->uc_mcontext.gregs[REG_RIP] = (greg_t)rb_rmw_cell_of_site(m, s);
        if (s->way == RB_RMW_BY_TRAP)
            count_trap(s);
    }
    end_reading();
    return ours;
}

// ---- places --------------------------------------------------------------------------------------------

void rb_rmw_show_place(void *given, struct rb_rmw_place *p)
{
    greg_t *reg = ((ucontext_t *)given)->uc_mcontext.gregs;
    unsigned offset, lowered;
    uintptr_t pc;

    p->in_cell = false;
    if (!rb_rmw_traps)
        return;
    begin_reading();
    const struct rb_rmw_site *s = rb_rmw_site_of_cell((uintptr_t)reg[REG_RIP], &offset);
    if (s) {
        rb_rmw_cell_place(s, offset, &pc, &lowered);
        *p = (struct rb_rmw_place){(uintptr_t)reg[REG_RIP], (uintptr_t)reg[REG_RSP], pc,
                                   (uintptr_t)reg[REG_RSP] + lowered, true};
        reg[REG_RIP] = (greg_t)p->shown_pc;
        reg[REG_RSP] = (greg_t)p->shown_sp;
    }
    end_reading();
}

void rb_rmw_hide_place(void *given, const struct rb_rmw_place *p)
{
    greg_t *reg = ((ucontext_t *)given)->uc_mcontext.gregs;
    struct rb_rmw_module *m;

    if (!p->in_cell)
        return;
    if ((uintptr_t)reg[REG_RIP] == p->shown_pc && (uintptr_t)reg[REG_RSP] == p->shown_sp) {
        reg[REG_RIP] = (greg_t)p->pc;
        reg[REG_RSP] = (greg_t)p->sp;
        return;
    }
    // The handler has moved the thread, perhaps over an instruction and to one that moved.
    begin_reading();
    const struct rb_rmw_site *s = rb_rmw_site_of_code((uintptr_t)reg[REG_RIP], &m);
    const unsigned at = s && s->in ? rb_rmw_cell_of(s, (uintptr_t)reg[REG_RIP]) : 0;
    if (at)
        reg[REG_RIP] = (greg_t)((uintptr_t)rb_rmw_cell_of_site(m, s) + at);
    end_reading();
}
