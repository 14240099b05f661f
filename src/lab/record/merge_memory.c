// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lab/record/merge_memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define GRANULES     (RB_MEMORY_PAGE / 8)
#define GRANULE_BITS 45 // of the number of a granule
#define THREAD_BITS  (64 - GRANULE_BITS)
#define MOST_THREADS (1u << THREAD_BITS) // atomic accesses of further threads are left out
#define MOST_VARS    UINT32_MAX          // so that variables + 1 fit 32 bits
#define IN_PAGE      (RB_MEMORY_PAGE - 1)
#define MOST_ADDRESS ((UINT64_C(1) << 48) - 1)

void rb_memory_init(struct rb_memory *m)
{
    *m = (struct rb_memory){.next = 1, .floor = 1};
}

void rb_memory_free(struct rb_memory *m)
{
    for (uint64_t i = 0; i < m->slots; i++)
        if (m->slot[i]) {
            free(m->slot[i]->id);
            free(m->slot[i]);
        }
    free(m->slot);
    rb_id_map_free(&m->pairs);
    free(m->pair);
    free(m->shared);
    free(m->name);
    *m = (struct rb_memory){0};
}

// ---- pages ---------------------------------------------------------------------------------------------

static struct rb_memory_page **slot_of(struct rb_memory_page **slot, uint64_t slots, uint64_t number)
{
    uint64_t i = rb_mix64(number) & (slots - 1);

    while (slot[i] && slot[i]->number != number)
        i = (i + 1) & (slots - 1);
    return &slot[i];
}

static struct rb_memory_page *find_page(struct rb_memory *m, uint64_t number)
{
    if (m->last && m->last->number == number)
        return m->last;
    struct rb_memory_page *p = m->slots ? *slot_of(m->slot, m->slots, number) : NULL;
    if (p)
        m->last = p;
    return p;
}

static bool more_slots(struct rb_memory *m)
{
    const uint64_t slots = m->slots ? 2 * m->slots : 1024;
    struct rb_memory_page **bigger = calloc(slots, sizeof(struct rb_memory_page *));

    if (!bigger)
        return false;
    for (uint64_t i = 0; i < m->slots; i++)
        if (m->slot[i])
            *slot_of(bigger, slots, m->slot[i]->number) = m->slot[i];
    free(m->slot);
    m->slot = bigger;
    m->slots = slots;
    return true;
}

static struct rb_memory_page *make_page(struct rb_memory *m, uint64_t number)
{
    struct rb_memory_page *p = find_page(m, number);

    if (p)
        return p;
    if (2 * m->pages >= m->slots && !more_slots(m))
        return NULL;
    p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->number = number;
    p->begins[0] = 1;
    *slot_of(m->slot, m->slots, number) = p;
    m->pages++;
    m->last = p;
    return p;
}

// Returns the size of the part of a range that lies in its first page.
static uint64_t piece_in_page(uint64_t address, uint64_t size)
{
    const uint64_t room = RB_MEMORY_PAGE - (address & IN_PAGE);

    return size < room ? size : room;
}

static void set_bit(uint64_t *bits, uint64_t i)
{
    bits[i / 64] |= UINT64_C(1) << (i % 64);
}

static bool get_bit(const uint64_t *bits, uint64_t i)
{
    return bits[i / 64] >> (i % 64) & 1;
}

// ---- first pass ----------------------------------------------------------------------------------------

// Packs a granule and its thread into one word: addresses have 48 bits, so granules 45.
static uint64_t pair_key(uint64_t granule, uint32_t thread)
{
    return granule << THREAD_BITS | thread;
}

static bool note_pair(struct rb_memory *m, uint64_t granule, uint32_t thread)
{
    const uint64_t key = pair_key(granule, thread);
    const uint32_t n = rb_id_map_get(&m->pairs, key);

    if (n == UINT32_MAX)
        return false;
    if (n < m->pair_count)
        return true;
    if (m->pair_count == m->pair_room) {
        const uint64_t room = m->pair_room ? 2 * m->pair_room : 256;
        uint64_t *bigger = realloc(m->pair, room * sizeof(*bigger));
        if (!bigger)
            return false;
        m->pair = bigger;
        m->pair_room = room;
    }
    m->pair[m->pair_count++] = key;
    return true;
}

bool rb_memory_note(struct rb_memory *m, uint64_t address, uint64_t size, uint32_t thread, bool atomic)
{
    if (atomic && thread >= MOST_THREADS)
        return true;
    for (uint64_t n; size > 0; address += n, size -= n) {
        struct rb_memory_page *p = make_page(m, address / RB_MEMORY_PAGE);
        const uint64_t from = address & IN_PAGE;
        if (!p)
            return false;
        n = piece_in_page(address, size);
        set_bit(p->begins, from);
        if (from + n < RB_MEMORY_PAGE)
            set_bit(p->begins, from + n);
        for (uint64_t g = from / 8; g <= (from + n - 1) / 8; g++) {
            set_bit(atomic ? p->atomic : p->plain, g);
            if (atomic && !note_pair(m, p->number * GRANULES + g, thread))
                return false;
        }
    }
    return true;
}

static int compare_keys(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

bool rb_memory_settle(struct rb_memory *m)
{
    uint64_t kept = 0;

    for (uint64_t i = 0; i < m->pair_count; i++) {
        const uint64_t granule = m->pair[i] >> THREAD_BITS;
        const struct rb_memory_page *p = find_page(m, granule / GRANULES);
        if (p && get_bit(p->plain, granule % GRANULES))
            m->pair[kept++] = m->pair[i];
    }
    m->pair_count = kept;
    if (kept)
        qsort(m->pair, kept, sizeof(*m->pair), compare_keys);
    rb_id_map_free(&m->pairs);
    for (uint64_t i = 0; i < m->slots; i++) {
        struct rb_memory_page *p = m->slot[i];
        unsigned parts = 0;
        if (!p)
            continue;
        for (unsigned w = 0; w < RB_LENGTH(p->begins); w++) {
            p->before[w] = (uint16_t)parts;
            parts += (unsigned)__builtin_popcountll(p->begins[w]);
        }
        for (unsigned w = 0; w < RB_LENGTH(p->plain); w++)
            p->atomic[w] &= p->plain[w]; // from now on: accessed both ways
        p->id = calloc(parts, sizeof(*p->id));
        if (!p->id)
            return false;
    }
    return true;
}

// ---- second pass ---------------------------------------------------------------------------------------

static bool new_variable(struct rb_memory *m, uint64_t address, uint32_t thread, uint32_t *id)
{
    if (m->next == MOST_VARS)
        return false;
    *id = m->next++;
    if (m->next == RB_MEMORY_NAMED) {
        free(m->name);
        m->name = NULL;
    }
    if (m->next >= RB_MEMORY_NAMED)
        return true;
    if (*id > m->name_room) {
        const uint64_t room = m->name_room ? 2 * m->name_room : 1024;
        struct rb_memory_name *bigger = realloc(m->name, room * sizeof(*bigger));
        if (!bigger)
            return false;
        m->name = bigger;
        m->name_room = room;
    }
    m->name[*id - 1] = (struct rb_memory_name){address, thread};
    return true;
}

// Finds the variable of the atomic accesses of a thread to a part. The key is the part's own variable,
// which differs in each of its lives.
static bool shared_variable(struct rb_memory *m, uint32_t part, uint64_t address, uint32_t thread,
                            uint32_t *id)
{
    const uint32_t n = rb_id_map_get(&m->pairs, (uint64_t)part << 32 | thread);

    if (n == UINT32_MAX)
        return false;
    if (n >= m->shared_room) {
        const uint64_t room = m->shared_room ? 2 * m->shared_room : 256;
        uint32_t *bigger = realloc(m->shared, room * sizeof(*bigger));
        if (!bigger)
            return false;
        memset(bigger + m->shared_room, 0, (room - m->shared_room) * sizeof(*bigger));
        m->shared = bigger;
        m->shared_room = room;
    }
    if (!m->shared[n] && !new_variable(m, address, thread + 1, &m->shared[n]))
        return false;
    *id = m->shared[n];
    return true;
}

static uint64_t first_pair(const struct rb_memory *m, uint64_t granule)
{
    const uint64_t key = pair_key(granule, 0);
    uint64_t low = 0, high = m->pair_count;

    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (m->pair[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct touch {
    struct rb_memory *m;
    uint32_t thread;
    bool atomic;
    rb_memory_fn *emit;
    void *context;
};

// Touches one part, which is variable `id - 1`, in a granule with both kinds of accesses.
static bool touch_mixed(const struct touch *t, uint64_t address, uint32_t id)
{
    const struct rb_memory *m = t->m;
    const uint64_t granule = address / 8;
    uint32_t variable;

    if (t->atomic) {
        if (!shared_variable(t->m, id, address, t->thread, &variable))
            return false;
        t->emit(t->context, variable - 1);
        return true;
    }
    for (uint64_t i = first_pair(m, granule); i < m->pair_count && m->pair[i] >> THREAD_BITS == granule;
         i++) {
        const uint32_t other = (uint32_t)(m->pair[i] & (MOST_THREADS - 1));
        if (other == t->thread)
            continue;
        if (!shared_variable(t->m, id, address, other, &variable))
            return false;
        t->emit(t->context, variable - 1);
    }
    return true;
}

// Returns the number of parts of the page that begin before the byte.
static unsigned rank_of(const struct rb_memory_page *p, uint64_t byte)
{
    const uint64_t below = (UINT64_C(1) << (byte % 64)) - 1;

    return p->before[byte / 64] + (unsigned)__builtin_popcountll(p->begins[byte / 64] & below);
}

static uint64_t next_begin(const struct rb_memory_page *p, uint64_t byte)
{
    uint64_t w = byte / 64, bits = byte < RB_MEMORY_PAGE ? p->begins[w] >> (byte % 64) << (byte % 64) : 0;

    while (!bits && ++w < RB_LENGTH(p->begins))
        bits = p->begins[w];
    return bits ? w * 64 + (uint64_t)__builtin_ctzll(bits) : RB_MEMORY_PAGE;
}

static bool touch_page(const struct touch *t, struct rb_memory_page *p, uint64_t from, uint64_t to,
                       bool stale)
{
    struct rb_memory *m = t->m;
    uint32_t *id = &p->id[rank_of(p, from)];

    for (uint64_t at = from; at < to; at = next_begin(p, at + 1), id++) {
        const uint64_t address = p->number * RB_MEMORY_PAGE + at;
        const bool mixed = get_bit(p->atomic, at / 8);
        uint32_t mine = stale ? 0 : *id;
        if (t->atomic && !mixed)
            continue;
        if (mine < m->floor && !new_variable(m, address, 0, &mine))
            return false;
        if (!stale)
            *id = mine;
        if (!t->atomic)
            t->emit(t->context, mine - 1);
        if (mixed && !touch_mixed(t, address, mine))
            return false;
    }
    return true;
}

bool rb_memory_touch(struct rb_memory *m, uint64_t address, uint64_t size, uint32_t thread, bool atomic,
                     uint32_t generation, rb_memory_fn *emit, void *context)
{
    const struct touch t = {m, thread, atomic, emit, context};

    if (generation > m->generation) {
        m->generation = generation;
        m->floor = m->next;
    }
    if (atomic && thread >= MOST_THREADS)
        return true;
    for (uint64_t n; size > 0; address += n, size -= n) {
        struct rb_memory_page *p = find_page(m, address / RB_MEMORY_PAGE);
        const uint64_t from = address & IN_PAGE;
        n = piece_in_page(address, size);
        // An access of an earlier generation is compared with no other: the merge has none.
        if (p && !touch_page(&t, p, from, from + n, generation < m->generation))
            return false;
    }
    return true;
}

bool rb_memory_mixed(struct rb_memory *m, uint64_t address, uint64_t size)
{
    for (uint64_t g = address / 8; g <= (address + size - 1) / 8; g++) {
        const struct rb_memory_page *p = find_page(m, g / GRANULES);
        if (p && get_bit(p->atomic, g % GRANULES))
            return true;
    }
    return false;
}

// Forgets parts that lie in the range or reach into it: their former accesses touched bytes of earlier
// lives.
static void forget_page(struct rb_memory_page *p, uint64_t from, uint64_t to)
{
    const unsigned first = rank_of(p, from) - !get_bit(p->begins, from),
                   end = rank_of(p, to - 1) + get_bit(p->begins, to - 1);

    memset(p->id + first, 0, (end - first) * sizeof(*p->id));
}

void rb_memory_forget(struct rb_memory *m, uint64_t from, uint64_t bytes)
{
    const uint64_t to = from + bytes, pages = bytes / RB_MEMORY_PAGE + 2;

    if (pages > m->slots) { // fewer pages exist than the range has
        for (uint64_t i = 0; i < m->slots; i++) {
            const uint64_t at = m->slot[i] ? m->slot[i]->number * RB_MEMORY_PAGE : MOST_ADDRESS;
            if (at < to && at + RB_MEMORY_PAGE > from)
                forget_page(m->slot[i], at < from ? from - at : 0,
                            to - at < RB_MEMORY_PAGE ? to - at : RB_MEMORY_PAGE);
        }
        return;
    }
    for (uint64_t n; bytes > 0; from += n, bytes -= n) {
        struct rb_memory_page *p = find_page(m, from / RB_MEMORY_PAGE);
        n = piece_in_page(from, bytes);
        if (p)
            forget_page(p, from & IN_PAGE, (from & IN_PAGE) + n);
    }
}
