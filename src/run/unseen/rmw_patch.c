// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes the hooks into code, and takes them out.
//
// With one thread bytes are written as they are. While others may run there, an int3 takes the place of the
// first byte, then the rest is written, then the first byte. After each step all cores have seen it
// (membarrier). A thread that meets the int3 goes on in the cell. It needs no other place: the instruction is
// the same there.
//
// Invariant: SIGTRAP is taken and stays unblocked in every thread before the first int3 (rb_rmw_prepare).
#include <errno.h>
#include <linux/membarrier.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inproc/breakpoints.h"
#include "inproc/traps.h"
#include "run/core/upcalls.h"
#include "run/sites/patch.h"
#include "run/unseen/rmw.h"
#include "run/unseen/rmw_modules.h"

#define INT3   0xccu
#define JUMP   0xe9u
#define AVX512 0xe0u
#define AVX    (AVX512 | 4u) // components that vector code changes, beyond SSE

// libc: no thread was made yet, or all others have ended.
extern char __libc_single_threaded __attribute__((weak));

uint32_t rb_rmw_vectors;
bool rb_rmw_asks;
bool rb_rmw_traps;
static bool ended; // nothing more is hooked
static struct rb_rmw_counts counts;

// ---- the machine ---------------------------------------------------------------------------------------

// Finds the vector registers of the machine. Returns false for AVX-512 of the first kind, without masks of 64
// bits.
static bool find_vectors(void)
{
    uint32_t a, b, c, d, low, high;

    __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(1), "c"(0));
    if (!(c & 1u << 27)) // OSXSAVE
        return true;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    rb_rmw_vectors = low & AVX;
    __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(13), "c"(1));
    rb_rmw_asks = a & 4; // XGETBV of XINUSE
    __asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(7), "c"(0));
    return !(rb_rmw_vectors & AVX512) || b & 1u << 30; // AVX512BW
}

static bool is_alone(void)
{
    return &__libc_single_threaded && __libc_single_threaded;
}

// Makes all cores see the code as it is now.
static bool sync_cores(void)
{
    const int sync = MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE;

    if (syscall(SYS_membarrier, sync, 0, 0) == 0)
        return true;
    return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0, 0) == 0 &&
           syscall(SYS_membarrier, sync, 0, 0) == 0;
}

// ---- bytes ---------------------------------------------------------------------------------------------

// One change of the code of a module: hooks go in, or out.
struct change {
    struct rb_rmw_module *m;
    bool in, alone;
    bool traps; // of the sites with a lasting int3 alone
};

static unsigned bytes_of(const struct rb_rmw_site *s)
{
    return s->way == RB_RMW_BY_JUMP ? RB_RMW_JUMP : 1;
}

// Puts our bytes at a site into `out`.
static void make_bytes(const struct rb_rmw_module *m, const struct rb_rmw_site *s, unsigned char *out)
{
    const int32_t distance = (int32_t)((uintptr_t)rb_rmw_cell_of_site(m, s) - (s->pc + RB_RMW_JUMP));

    out[0] = s->way == RB_RMW_BY_JUMP ? JUMP : INT3;
    __builtin_memcpy(out + 1, &distance, sizeof(distance));
}

static void write_byte(uintptr_t at, unsigned char byte)
{
    *(volatile unsigned char *)at = byte;
}

// Returns true if the site has the bytes that this change takes the place of. Else another program has
// written there, and the site is no longer ours.
static bool is_due(const struct change *c, struct rb_rmw_site *s)
{
    unsigned char ours[RB_RMW_JUMP];

    if (s->in == c->in || s->way == RB_RMW_REFUSED || (c->traps && s->way != RB_RMW_BY_TRAP))
        return false;
    make_bytes(c->m, s, ours);
    if (__builtin_memcmp((const void *)s->pc, c->in ? s->original : ours, bytes_of(s)) == 0)
        return true;
    s->way = RB_RMW_REFUSED;
    return false;
}

// The steps in which other threads see a site change.
enum step { STEP_GUARD, STEP_TAIL, STEP_HEAD, STEPS };

static void take_step(const struct change *c, struct rb_rmw_site *s, enum step step)
{
    unsigned char bytes[RB_RMW_JUMP];

    if (c->in)
        make_bytes(c->m, s, bytes);
    else
        __builtin_memcpy(bytes, s->original, sizeof(bytes));
    if (step == STEP_GUARD)
        write_byte(s->pc, INT3);
    for (unsigned i = 1; step == STEP_TAIL && i < bytes_of(s); i++)
        write_byte(s->pc + i, bytes[i]);
    if (step == STEP_HEAD) {
        write_byte(s->pc, bytes[0]);
        s->in = c->in;
    }
}

// Changes the sites within the pages, from the first. Returns false if the cores cannot be told; then nothing
// is written.
static bool change_span(const struct change *c, uint32_t first, uint32_t end)
{
    if (!c->alone && !sync_cores())
        return false;
    for (uint32_t i = first; i < end; i++)
        c->m->site[i].due = is_due(c, &c->m->site[i]);
    for (enum step step = c->alone ? STEP_TAIL : STEP_GUARD; step < STEPS; step++) {
        for (uint32_t i = first; i < end; i++)
            if (c->m->site[i].due)
                take_step(c, &c->m->site[i], step);
        if (!c->alone)
            sync_cores();
    }
    return true;
}

// Makes the pages around a site writable and changes the sites there. Returns the first site behind them, or
// a negative errno.
static int64_t change_around(const struct change *c, uint32_t first)
{
    const struct rb_rmw_module *m = c->m;
    struct rb_patch_text text;
    uint32_t end = first;

    if (!rb_patch_find(m->site[first].pc, m->site[first].pc + 1, &text))
        return -ENOEXEC;
    const struct rb_patch_text span = rb_patch_span(&text, m->site[first].pc);
    while (end < m->sites && m->site[end].pc + RB_RMW_JUMP <= span.to)
        end++;
    if (end == first) // an int3 in the last bytes of the code
        end++;
    if (!rb_patch_protect(&span, span.protection | PROT_WRITE))
        return -errno;
    const bool done = change_span(c, first, end);
    rb_patch_protect(&span, span.protection);
    return done ? (int64_t)end : -ENOSYS;
}

static int change_code(const struct change *c)
{
    for (int64_t next = 0; next < (int64_t)c->m->sites;) {
        next = change_around(c, (uint32_t)next);
        if (next < 0)
            return (int)next;
    }
    return 0;
}

// ---- hooks ---------------------------------------------------------------------------------------------

bool rb_rmw_prepare(void)
{
    if (rb_rmw_traps)
        return true;
    if (rb_host.sandboxed || !find_vectors() || !rb_trap_take())
        return false;
    rb_rmw_traps = true;
    rb_traps_unblock();
    return true;
}

static void count_module(const struct rb_rmw_module *m, uint32_t rows)
{
    counts.refused += rows - m->sites;
    for (uint32_t i = 0; i < m->sites; i++) {
        const struct rb_rmw_site *s = &m->site[i];
        counts.jumps += s->in && s->way == RB_RMW_BY_JUMP;
        counts.moved += s->in && s->moves > 0;
        counts.traps += s->in && s->way == RB_RMW_BY_TRAP;
        counts.refused += !s->in;
    }
}

// A debugger is shown every int3: there are none of ours then, where they stay.
static void refuse_traps(struct rb_rmw_module *m)
{
    for (uint32_t i = 0; i < m->sites; i++)
        if (m->site[i].way == RB_RMW_BY_TRAP)
            m->site[i].way = RB_RMW_REFUSED;
}

static int hook_module(unsigned library, uintptr_t base, const struct rb_rmw_table *table)
{
    const bool alone = is_alone();
    int error;

    if (rb_host.sandboxed || ended)
        return -EPERM;
    if (!rb_rmw_traps && (!alone || !rb_rmw_prepare()))
        return -EBUSY;
    struct rb_rmw_module *m = rb_rmw_module_make(library, base, table, alone, &error);
    if (!m)
        return error;
    if (rb_breakpoints_traced())
        refuse_traps(m);
    error = change_code(&(struct change){.m = m, .in = true, .alone = alone});
    if (error) {
        change_code(&(struct change){.m = m, .alone = alone});
        if (alone) // else a thread may be in a cell
            rb_rmw_module_free(m);
        return error;
    }
    count_module(m, table->header->rows);
    return 0;
}

int rb_rmw_hook_module(unsigned library, uintptr_t base, const struct rb_rmw_table *table)
{
    const int saved = errno;

    rb_spin_lock(&rb_rmw_lock);
    const int error = hook_module(library, base, table);
    if (error)
        counts.refused += table->header->rows;
    rb_spin_unlock(&rb_rmw_lock);
    errno = saved;
    return error;
}

void rb_rmw_forget_module(unsigned library)
{
    rb_spin_lock(&rb_rmw_lock);
    for (uint32_t i = 0; i < rb_rmw_module_count; i++)
        if (rb_rmw_module[i].sites && rb_rmw_module[i].library == library)
            rb_rmw_module_free(&rb_rmw_module[i]);
    rb_spin_unlock(&rb_rmw_lock);
}

// Takes hooks out of all code; `traps`: only those by int3.
static void restore_code(bool traps)
{
    const int saved = errno;

    rb_spin_lock(&rb_rmw_lock);
    ended |= traps;
    for (uint32_t i = 0; i < rb_rmw_module_count && !rb_host.sandboxed; i++)
        if (rb_rmw_module[i].sites)
            change_code(&(struct change){.m = &rb_rmw_module[i], .alone = is_alone(), .traps = traps});
    rb_spin_unlock(&rb_rmw_lock);
    errno = saved;
}

// The cells stay: a thread may be in one.
void rb_rmw_restore_all(void)
{
    restore_code(false);
}

void rb_rmw_end_traps(void)
{
    restore_code(true);
}

void rb_rmw_reset_after_fork(void)
{
    rb_rmw_lock = rb_rmw_readers = 0;
    rb_rmw_tables_reset();
}

void rb_rmw_count(struct rb_rmw_counts *out)
{
    *out = counts;
    out->given_up = rb_load_relaxed(&rb_rmw_given_up);
}

void rb_rmw_lost(unsigned library, uintptr_t pc)
{
    struct rb_self *me = rb_enter();

    (void)library;
    (void)pc;
    if (!me)
        return;
    rb_lost_edge(me);
    rb_leave(me);
}
