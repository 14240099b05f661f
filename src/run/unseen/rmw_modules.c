// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory of a module's hooks, in reach of its code: words and sites, which are data, then the cells.
#include "run/unseen/rmw_modules.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run/core/upcalls.h"
#include "run/sites/patch.h"

#define PAGE  ((size_t)4096)
#define REACH ((uintptr_t)0x7fff0000) // of a distance of 32 bits
#define STEP  ((uintptr_t)4 << 20)    // between places that are tried

struct rb_rmw_module rb_rmw_module[RB_RMW_MODULES];
uint32_t rb_rmw_module_count;
rb_spin rb_rmw_lock;

rb_spin rb_rmw_readers; // a number

static bool rmw_on = true; // cells lead to their hooks

// ---- memory near the code ------------------------------------------------------------------------------

struct near_range {
    uintptr_t from, to; // code and data that the cells refer to
    size_t bytes;
};

static bool is_near(const struct near_range *n, uintptr_t map)
{
    const uintptr_t low = map < n->from ? map : n->from;
    const uintptr_t high = map + n->bytes > n->to ? map + n->bytes : n->to;

    return high - low < REACH;
}

// Maps memory at the place or wherever the kernel likes. Returns NULL if that is too far away.
static void *try_map(const struct near_range *n, uintptr_t place)
{
    const long map = syscall(SYS_mmap, place, n->bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1L, 0L);

    if (map == -1 || is_near(n, (uintptr_t)map))
        return map == -1 ? NULL : (void *)map;
    syscall(SYS_munmap, map, n->bytes);
    return NULL;
}

static void *map_near(const struct near_range *n)
{
    void *map = try_map(n, 0);

    for (uintptr_t away = STEP; !map && away < REACH; away += STEP) {
        const uintptr_t above = (n->to + away) & ~(uintptr_t)(PAGE - 1);
        const uintptr_t below = (n->from - away - n->bytes) & ~(uintptr_t)(PAGE - 1);
        map = try_map(n, above);
        if (!map && below < n->from)
            map = try_map(n, below);
    }
    return map;
}

// ---- making --------------------------------------------------------------------------------------------

static size_t round_up(size_t bytes)
{
    return (bytes + PAGE - 1) & ~(PAGE - 1);
}

// Returns the way to hook an instruction. Others may run where bytes behind it are written, so only bytes of
// its own are taken then.
static enum rb_rmw_way choose_way(const struct rb_rmw_row *r, bool alone)
{
    return (alone ? r->taken : r->length) >= RB_RMW_JUMP ? RB_RMW_BY_JUMP : RB_RMW_BY_TRAP;
}

// Returns true if the code in memory is that of the row.
static bool is_code_of(const struct rb_rmw_row *r, uintptr_t pc)
{
    struct rb_patch_text t;

    return rb_patch_find(pc, pc + r->taken, &t) && pc >= t.start && pc + r->taken <= t.end &&
           __builtin_memcmp((const void *)pc, r->bytes, r->taken) == 0;
}

static void fill_site(struct rb_rmw_site *s, const struct rb_rmw_row *r, uintptr_t pc, unsigned library,
                      bool alone)
{
    *s = (struct rb_rmw_site){.pc = pc,
                              .self = s,
                              .library = library,
                              .displacement = r->displacement,
                              .length = r->length,
                              .base = r->base,
                              .index = r->index,
                              .scale = r->scale,
                              .size = r->size,
                              .bit = r->bit,
                              .way = (uint8_t)choose_way(r, alone)};
    s->taken = s->way == RB_RMW_BY_JUMP ? r->taken : r->length;
    if (s->taken < RB_RMW_JUMP)
        s->way = RB_RMW_BY_TRAP;
    for (unsigned i = 0; i < RB_RMW_JUMP && i < s->taken; i++)
        s->original[i] = r->bytes[i];
}

static uint32_t fill_module(struct rb_rmw_module *m, uintptr_t base, const struct rb_rmw_table *table,
                            bool alone)
{
    const struct rb_rmw_calls calls = {(uintptr_t)rb_rmw_stub_before, (uintptr_t)rb_rmw_stub_after};
    struct rb_rmw_calls *shared = m->map;
    uint32_t made = 0;

    *shared = calls;
    for (uint32_t i = 0; i < table->header->rows; i++) {
        const struct rb_rmw_row *r = &table->row[i];
        struct rb_rmw_site *s = &m->site[made];
        unsigned char *cell = m->cell + (size_t)made * RB_RMW_CELL;
        if (!is_code_of(r, base + r->offset))
            continue;
        fill_site(s, r, base + r->offset, m->library, alone);
        if (!rb_rmw_cell_make(cell, s, &m->slot[made], shared, r))
            continue;
        m->slot[made++] = rb_rmw_cell_ways(cell, s, rb_load_relaxed(&rmw_on));
        m->to = s->pc + s->taken;
    }
    m->from = made ? m->site[0].pc : 0;
    return made;
}

static struct rb_rmw_module *find_free(void)
{
    for (uint32_t i = 0; i < RB_RMW_MODULES; i++)
        if (!rb_rmw_module[i].sites)
            return &rb_rmw_module[i];
    return NULL;
}

// Returns the code and data of the module that operands may be in.
static bool find_range(uintptr_t base, const struct rb_rmw_table *table, struct near_range *n)
{
    struct rb_patch_text t;
    const uint32_t rows = table->header->rows;

    if (!rows || !rb_patch_find(base + table->row[0].offset, base + table->row[rows - 1].offset + 1, &t))
        return false;
    n->from = t.from < base ? t.from : base;
    n->to = t.to;
    for (uint32_t i = 0; i < rows; i++) {
        const struct rb_rmw_row *r = &table->row[i];
        const uintptr_t end = base + r->offset + r->length;
        const uintptr_t operand = r->base == RB_RMW_RIP ? end + (uintptr_t)(intptr_t)r->displacement : end;
        n->from = operand < n->from ? operand : n->from;
        n->to = operand > n->to ? operand : n->to;
    }
    return true;
}

static void show_module(struct rb_rmw_module *m, uint32_t sites)
{
    const uint32_t number = (uint32_t)(m - rb_rmw_module) + 1;

    rb_store_release(&m->sites, sites);
    if (number > rb_rmw_module_count)
        rb_store_release(&rb_rmw_module_count, number);
}

struct rb_rmw_module *rb_rmw_module_make(unsigned library, uintptr_t base, const struct rb_rmw_table *table,
                                         bool alone, int *error)
{
    const uint32_t rows = table->header->rows;
    struct rb_rmw_module *m = find_free();
    struct near_range n = {0, 0, 0};

    *error = -ENOENT;
    if (!m || !find_range(base, table, &n))
        return NULL;
    const size_t slots = round_up(sizeof(struct rb_rmw_calls)) + rows * sizeof(struct rb_rmw_slot);
    const size_t data = round_up(slots + rows * sizeof(struct rb_rmw_site));
    n.bytes = data + round_up((size_t)rows * RB_RMW_CELL);
    *error = -ENOMEM;
    void *map = map_near(&n);
    if (!map)
        return NULL;
    *m = (struct rb_rmw_module){.library = library, .map = map, .mapped = n.bytes};
    m->slot = (void *)((char *)map + round_up(sizeof(struct rb_rmw_calls)));
    m->site = (void *)(m->slot + rows);
    m->cell = (unsigned char *)map + data;
    const uint32_t made = fill_module(m, base, table, alone);
    *error = made ? 0 : -ENOEXEC;
    if (made && syscall(SYS_mprotect, m->cell, n.bytes - data, PROT_READ | PROT_EXEC) != 0)
        *error = -errno;
    if (*error) {
        rb_rmw_module_free(m);
        return NULL;
    }
    show_module(m, made);
    return m;
}

void rb_rmw_module_free(struct rb_rmw_module *m)
{
    rb_store_seq_cst(&m->sites, 0);
    if (rb_load_seq_cst(&rb_rmw_readers))
        rb_spin_wait(&rb_rmw_readers); // handlers, which are short; in a child of fork they are gone
    syscall(SYS_munmap, m->map, m->mapped);
}

// ---- finding -------------------------------------------------------------------------------------------

static struct rb_rmw_site *find_site(const struct rb_rmw_module *m, uint32_t sites, uintptr_t pc)
{
    uint32_t low = 0, high = sites;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (m->site[middle].pc + m->site[middle].taken <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low < sites && m->site[low].pc <= pc ? &m->site[low] : NULL;
}

struct rb_rmw_site *rb_rmw_site_of_code(uintptr_t pc, struct rb_rmw_module **module)
{
    const uint32_t modules = rb_load_acquire(&rb_rmw_module_count);

    for (uint32_t i = 0; i < modules; i++) {
        struct rb_rmw_module *m = &rb_rmw_module[i];
        const uint32_t sites = rb_load_acquire(&m->sites);
        struct rb_rmw_site *s = sites && pc >= m->from && pc < m->to ? find_site(m, sites, pc) : NULL;
        if (s) {
            *module = m;
            return s;
        }
    }
    return NULL;
}

struct rb_rmw_site *rb_rmw_site_of_cell(uintptr_t pc, unsigned *offset)
{
    const uint32_t modules = rb_load_acquire(&rb_rmw_module_count);

    for (uint32_t i = 0; i < modules; i++) {
        const struct rb_rmw_module *m = &rb_rmw_module[i];
        const uint32_t sites = rb_load_acquire(&m->sites);
        const uintptr_t into = pc - (uintptr_t)m->cell;
        if (!sites || into >= (uintptr_t)sites * RB_RMW_CELL)
            continue;
        struct rb_rmw_site *s = &m->site[into / RB_RMW_CELL];
        *offset = (unsigned)(into % RB_RMW_CELL);
        return *offset < s->end ? s : NULL;
    }
    return NULL;
}

unsigned char *rb_rmw_cell_of_site(const struct rb_rmw_module *m, const struct rb_rmw_site *s)
{
    return m->cell + (size_t)(s - m->site) * RB_RMW_CELL;
}

// ---- pauses --------------------------------------------------------------------------------------------

// Tracking begins after all of these stores. Their order keeps cells off the late way but where tracking did
// begin in between.
static void set_slot(struct rb_rmw_slot *slot, const struct rb_rmw_slot *to, bool on)
{
    uintptr_t *first = on ? &slot->way : &slot->later, *second = on ? &slot->later : &slot->way;

    rb_store_release(first, on ? to->way : to->later);
    rb_store_release(second, on ? to->later : to->way);
}

void rb_rmw_switch(bool on)
{
    if (!rb_load_acquire(&rb_rmw_module_count)) {
        rb_store_relaxed(&rmw_on, on);
        return;
    }
    rb_spin_lock(&rb_rmw_lock);
    rb_store_relaxed(&rmw_on, on);
    for (uint32_t i = 0; i < rb_rmw_module_count; i++) {
        const struct rb_rmw_module *m = &rb_rmw_module[i];
        for (uint32_t n = 0; n < m->sites; n++) {
            const struct rb_rmw_slot to =
                rb_rmw_cell_ways(rb_rmw_cell_of_site(m, &m->site[n]), &m->site[n], on);
            set_slot(&m->slot[n], &to, on);
        }
    }
    rb_spin_unlock(&rb_rmw_lock);
}
