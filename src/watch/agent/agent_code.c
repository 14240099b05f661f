// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bytes of code: int3 in, the original byte out again.
//
// Invariants
//   A byte is written only at the first byte of an instruction that a table calls a site, one byte at a
//   time. It is 0xcc, or the byte that stood there when the site was first planted (`original`).
//   The state is SET before the int3 can be seen, and FREE only after the original is back. So a thread that
//   traps finds a site that was planted at some time, and going back to the instruction is always right. An
//   int3 of the program itself is never at a site.
//   The thread that changes SET to TAKEN puts the byte back, one thread at a time. Putting a byte back once
//   more does no harm.
//
// The file /proc/thread-self/mem is opened for each byte. A descriptor that stays open could become another
// file's when a program closes all descriptors that it does not know. In a child of fork it would still be
// the parent's memory.
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "watch/agent/agent.h"

#define INT3     0xccu
#define PAGE     4096u
#define PATIENCE 64u

struct rb_code_module rb_modules[RB_MODULES];
uint32_t rb_module_count;
const char *rb_code_refused;

// ---- one byte ------------------------------------------------------------------------------------------

static bool write_by_file(uintptr_t at, uint8_t byte)
{
    const long fd = syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/mem", O_WRONLY | O_CLOEXEC, 0);

    if (fd < 0)
        return false;
    const long n = syscall(SYS_pwrite64, fd, &byte, 1, at);
    syscall(SYS_close, fd);
    return n == 1;
}

// Threads continue to run the page meanwhile: it stays executable.
static bool write_by_protection(uintptr_t at, uint8_t byte)
{
    const uintptr_t page = at & ~(uintptr_t)(PAGE - 1);

    if (syscall(SYS_mprotect, page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC))
        return false;
    *(volatile uint8_t *)at = byte;
    syscall(SYS_mprotect, page, PAGE, PROT_READ | PROT_EXEC);
    return true;
}

static bool write_byte(uintptr_t at, uint8_t byte)
{
    return write_by_file(at, byte) || write_by_protection(at, byte);
}

// ---- sites ---------------------------------------------------------------------------------------------

static uintptr_t address_of(const struct rb_code_module *m, uint32_t site)
{
    return m->bias + m->table.row[m->table.site[site]].offset;
}

static bool change_state(struct rb_code_module *m, uint32_t site, uint8_t from, uint8_t to)
{
    return rb_cas_strong_acq_rel(&m->state[site], &from, to);
}

void rb_site_restore(struct rb_code_module *m, uint32_t site)
{
    const uintptr_t at = address_of(m, site);

    for (unsigned i = 0; i < PATIENCE && !write_byte(at, m->original[site]); i++)
        syscall(SYS_sched_yield);
    rb_store_release(&m->state[site], RB_SITE_FREE);
}

bool rb_site_plant(struct rb_code_module *m, uint32_t site, enum rb_site_now how)
{
    const uintptr_t at = address_of(m, site);
    const uint8_t state = rb_load_acquire(&m->state[site]);

    if (state != RB_SITE_NEVER && state != RB_SITE_FREE)
        return false;
    if (at < m->from || at >= m->to)
        return false;
    if (state == RB_SITE_NEVER)
        m->original[site] = *(const volatile uint8_t *)at;
    if (m->original[site] == INT3) { // an int3 that is not ours
        rb_store_release(&m->state[site], RB_SITE_UNUSED);
        return false;
    }
    if (*(const volatile uint8_t *)at != m->original[site]) // other code changes it, too
        return false;
    m->ever = true;
    rb_store_seq_cst(&m->state[site], RB_SITE_COMES);
    const bool written = write_byte(at, INT3);
    rb_store_seq_cst(&m->state[site], written ? how : RB_SITE_UNUSED);
    if (written) {
        RB_COUNTED(planted);
        return true;
    }
    rb_code_refused = "code cannot be changed: neither /proc/self/mem nor mprotect is permitted";
    return false;
}

bool rb_site_withdraw(struct rb_code_module *m, uint32_t site)
{
    if (!change_state(m, site, RB_SITE_SET, RB_SITE_TAKEN) &&
        !change_state(m, site, RB_SITE_SLOW, RB_SITE_TAKEN))
        return false;
    rb_site_restore(m, site);
    return true;
}

void rb_sites_withdraw_all(bool all)
{
    const uint32_t count = rb_load_acquire(&rb_module_count);

    for (uint32_t i = 0; i < count; i++) {
        struct rb_code_module *m = &rb_modules[i];
        if (!m->from || !m->ever || (m->stays && !all))
            continue;
        for (uint32_t k = 0; k < m->table.header->sites; k++) {
            const uint8_t state = rb_load_relaxed(&m->state[k]);
            if (state == RB_SITE_SET || state == RB_SITE_SLOW)
                rb_site_withdraw(m, k);
        }
    }
}

void rb_sites_after_fork(void)
{
    for (uint32_t i = 0; i < rb_module_count; i++) {
        struct rb_code_module *m = &rb_modules[i];
        for (uint32_t k = 0; m->from && m->ever && k < m->table.header->sites; k++)
            if (m->state[k] >= RB_SITE_COMES && m->state[k] <= RB_SITE_TAKEN)
                rb_site_restore(m, k);
    }
}

static int some_code(void)
{
    return 1;
}

// Writes the byte that is there, once more.
bool rb_code_try(void)
{
    const uintptr_t at = (uintptr_t)some_code;

    return write_byte(at, *(const volatile uint8_t *)at);
}

// ---- finding -------------------------------------------------------------------------------------------

struct rb_code_module *rb_code_module_at(uintptr_t pc)
{
    const uint32_t count = rb_load_acquire(&rb_module_count);

    for (uint32_t i = 0; i < count; i++) {
        const uintptr_t from = rb_load_acquire(&rb_modules[i].from);
        if (from && pc >= from && pc < rb_modules[i].to)
            return &rb_modules[i];
    }
    return NULL;
}

static uint32_t site_of_row(const struct rb_code_table *t, uint32_t row)
{
    uint32_t low = 0, high = t->header->sites;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (t->site[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low < t->header->sites && t->site[low] == row ? low : UINT32_MAX;
}

// Finds the row of an instruction that is a site.
bool rb_site_find(uintptr_t address, struct rb_place *place)
{
    place->module = rb_code_module_at(address);
    if (!place->module)
        return false;
    const struct rb_code_table *t = &place->module->table;
    place->rows = rb_code_at(t, (uint32_t)(address - place->module->bias), &place->row);
    for (unsigned i = 0; i < place->rows; i++)
        if (place->row[i].flags & RB_CODE_SITE) {
            place->row += i;
            place->rows = 1;
            place->site = site_of_row(t, (uint32_t)(place->row - t->row));
            return place->site != UINT32_MAX;
        }
    return false;
}

uint64_t rb_sites_total(void)
{
    uint64_t total = 0;

    for (uint32_t i = 0; i < rb_module_count; i++)
        if (rb_modules[i].from)
            total += rb_modules[i].table.header->sites;
    return total;
}

bool rb_site_pick(uint64_t number, struct rb_code_module **m, uint32_t *site)
{
    for (uint32_t i = 0; i < rb_module_count; i++) {
        if (!rb_modules[i].from)
            continue;
        const uint32_t sites = rb_modules[i].table.header->sites;
        if (number < sites) {
            *m = &rb_modules[i];
            *site = (uint32_t)number;
            return true;
        }
        number -= sites;
    }
    return false;
}
