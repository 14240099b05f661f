// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lists of the runtime's own mappings, arenas and tables, and the kernel's count of their pages.
#include "run/core/footprint.h"

#include <errno.h>
#include <sys/mman.h>

#define MOST           32u
#define PAGE           ((size_t)4096)
#define CHUNK          512u // pages asked about at once
#define POPULATE_WRITE 23   // MADV_POPULATE_WRITE, which older headers lack

// Written at start by one thread, and never again.
static struct {
    const void *start;
    size_t bytes;
} maps[MOST];
static const struct rb_arena *arenas[MOST];
static struct {
    void *start;
    size_t bytes;
} tables[MOST];
static unsigned map_count, arena_count, table_count;

void rb_footprint_map(const void *start, size_t bytes)
{
    if (map_count < MOST) {
        maps[map_count].start = start;
        maps[map_count++].bytes = bytes;
    }
}

void rb_footprint_arena(const struct rb_arena *a)
{
    if (arena_count < MOST)
        arenas[arena_count++] = a;
}

// Makes the pages at once. Before Linux 5.14 there is no such advice: pages are made at the first access.
void rb_footprint_populate(void *start, size_t bytes)
{
    const int saved = errno;

    madvise(start, bytes, POPULATE_WRITE);
    errno = saved;
}

void rb_footprint_table(void *start, size_t bytes)
{
    if (table_count < MOST) {
        tables[table_count].start = start;
        tables[table_count++].bytes = bytes;
    }
}

void rb_footprint_warm(void)
{
    for (unsigned i = 0; i < table_count; i++)
        rb_footprint_populate(tables[i].start, tables[i].bytes);
}

static void add_mapping(struct rb_footprint *f, const void *start, size_t bytes)
{
    unsigned char there[CHUNK];
    const size_t pages = (bytes + PAGE - 1) / PAGE;

    f->mapped += pages * PAGE;
    for (size_t at = 0; at < pages; at += CHUNK) {
        const size_t n = pages - at < CHUNK ? pages - at : CHUNK;
        if (mincore((char *)(uintptr_t)start + at * PAGE, n * PAGE, there))
            continue;
        for (size_t i = 0; i < n; i++)
            f->resident += there[i] & 1 ? PAGE : 0;
    }
}

struct rb_footprint rb_footprint(void)
{
    const int saved = errno;
    struct rb_footprint f = {0, 0};

    for (unsigned i = 0; i < map_count; i++)
        add_mapping(&f, maps[i].start, maps[i].bytes);
    for (unsigned i = 0; i < arena_count; i++)
        for (const struct rb_arena_region *r = arenas[i]->regions; r; r = r->next)
            add_mapping(&f, r, r->bytes);
    errno = saved;
    return f;
}
