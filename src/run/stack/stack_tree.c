// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The tree of call stacks: nodes {parent, pc} and their numbers. One mapping: an array of nodes, numbered
// from 1 in the order they come, and a hash table of the first node of each chain.
//
// Invariant: a node is in one chain, once, and its parent has a smaller number. A node is filled in before
// a compare-and-swap of its chain's head makes it visible. A thread that loses that race searches the nodes
// added since, before its next try. So no {parent, pc} is in a chain twice; if the other thread added the
// same node, the loser's own is wasted, 16 bytes. No thread waits: a signal handler may intern on top of an
// interrupted insertion.
#include <errno.h>
#include <sys/mman.h>

#include "base/pages.h"
#include "run/core/footprint.h"
#include "run/core/stack.h"

struct node {
    uint64_t pc;
    uint64_t link; // parent << 32 | next of the chain
};
_Static_assert(sizeof(struct node) == 16, "four nodes a cache line");

#define LEAST_BYTES 4096
#define HEAD_SHARE  32 // heads take at most one part in so many of the memory

// Written by rb_stack_init alone, before any reader.
static struct {
    struct node *node;
    uint32_t *head;
    size_t bytes;
    uint32_t chains_log2;
    uint32_t room;    // nodes, the unused node 0 included
    uint32_t reserve; // of these, for nodes without a parent
} table;

// Written by all threads.
static uint32_t used = 1;
static uint64_t dropped;

static uint64_t load_word(const uint64_t *word)
{
    return rb_load_relaxed(word);
}

int rb_stack_init(size_t bytes)
{
    const int before = errno;
    uint32_t chains_log2 = 8;

    bytes &= ~(size_t)4095;
    if (bytes < LEAST_BYTES)
        return -EINVAL;
    while (chains_log2 < 30 && ((size_t)8 << chains_log2) <= bytes / HEAD_SHARE)
        chains_log2++;
    const size_t chains_bytes = (size_t)4 << chains_log2;
    const size_t room = (bytes - chains_bytes) / sizeof(struct node);
    void *memory = rb_pages_map(bytes);
    if (!memory)
        return -ENOMEM;
    if (table.node)
        munmap(table.node, table.bytes);
    table.node = memory;
    table.bytes = bytes;
    table.room = room < UINT32_MAX ? (uint32_t)room : UINT32_MAX;
    table.head = (uint32_t *)(table.node + room);
    table.chains_log2 = chains_log2;
    table.reserve = table.room / 16;
    rb_footprint_table(table.head, chains_bytes);
    used = 1;
    dropped = 0;
    rb_unwind_forget(); // walks remember nodes
    errno = before;
    return 0;
}

void rb_stack_reset(void)
{
    const int before = errno;

    if (table.node && madvise(table.node, table.bytes, MADV_DONTNEED) != 0)
        for (uint32_t i = 0; i < 1u << table.chains_log2; i++)
            rb_store_relaxed(&table.head[i], 0);
    used = 1;
    dropped = 0;
    rb_unwind_forget();
    errno = before;
}

// Searches for a node from `id` on, up to and without `end`. Returns 0 if there is none.
static rb_stack find_node(uint32_t id, uint32_t end, rb_stack parent, uint64_t pc)
{
    while (id != end) {
        const struct node *n = &table.node[id];
        const uint64_t link = load_word(&n->link);
        if (load_word(&n->pc) == pc && link >> 32 == parent)
            return id;
        id = (uint32_t)link;
    }
    return 0;
}

// Returns a number for a new node; 0 if the table is full.
static uint32_t take_number(bool with_parent)
{
    const uint32_t limit = with_parent ? table.room - table.reserve : table.room;
    uint32_t id = rb_load_relaxed(&used);

    do {
        if (id >= limit)
            return 0;
    } while (!rb_cas_weak_relaxed(&used, &id, id + 1));
    return id;
}

static RB_NOINLINE rb_stack insert_node(uint32_t *chain, uint32_t head, rb_stack parent, uintptr_t pc)
{
    const uint32_t id = take_number(parent != 0);

    if (!id)
        return 0;
    struct node *n = &table.node[id];
    rb_store_relaxed(&n->pc, pc);
    for (;;) {
        const uint32_t seen = head; // nodes from here on have been searched
        rb_store_relaxed(&n->link, (uint64_t)parent << 32 | head);
        if (rb_cas_strong_acq_rel(chain, &head, id))
            return id;
        const rb_stack same = find_node(head, seen, parent, pc);
        if (same)
            return same;
    }
}

rb_stack rb_stack_child(rb_stack parent, uintptr_t pc)
{
    if (RB_UNLIKELY(!table.node))
        return 0;
    const uint64_t hash = (pc ^ (uint64_t)parent << 32 ^ parent) * RB_GOLDEN;
    uint32_t *chain = &table.head[hash >> (64 - table.chains_log2)];
    const uint32_t head = rb_load_acquire(chain);
    const rb_stack found = find_node(head, 0, parent, pc);
    return RB_LIKELY(found) ? found : insert_node(chain, head, parent, pc);
}

unsigned rb_stack_frames(rb_stack s, uintptr_t *pcs, unsigned room)
{
    unsigned count = 0;

    if (s >= rb_load_acquire(&used))
        return 0;
    while (s && count < room) {
        const struct node *n = &table.node[s];
        const rb_stack parent = (rb_stack)(load_word(&n->link) >> 32);
        pcs[count++] = load_word(&n->pc);
        if (parent >= s) // cannot happen; a loop would be worse than a short stack
            break;
        s = parent;
    }
    return count;
}

void rb_stack_drop(void)
{
    rb_fetch_add_relaxed(&dropped, 1);
}

size_t rb_stack_bytes(void)
{
    return table.node ? (size_t)rb_stack_count() * sizeof(struct node) + ((size_t)4 << table.chains_log2) : 0;
}

uint64_t rb_stack_dropped(void)
{
    return rb_load_relaxed(&dropped);
}

uint32_t rb_stack_count(void)
{
    return rb_load_relaxed(&used) - 1;
}

uint32_t rb_stack_room(void)
{
    return table.room;
}
