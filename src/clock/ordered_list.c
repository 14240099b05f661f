// Built with -fno-tree-loop-distribute-patterns, see vclock.c.
#include "clock/ordered_list.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

static size_t olist_bytes(uint32_t size)
{
    return sizeof(struct rb_olist) + (size_t)size * sizeof(uint32_t) +
           ((size_t)size + 1) * sizeof(struct rb_olist_link);
}

struct rb_olist *rb_olist_new(struct rb_arena *a, uint32_t slots)
{
    const uint32_t size = (slots + 15) & ~15u;
    struct rb_olist *l = rb_arena_alloc(a, olist_bytes(size));

    if (!l)
        return NULL;
    l->refs = 1;
    l->size = size;
    for (uint32_t i = 0; i < size; i++)
        l->time[i] = 0;
    struct rb_olist_link *link = rb_olist_links(l);
    for (uint32_t i = 0; i <= size; i++) {
        link[i].next = (uint16_t)(i == size ? 0 : i + 1);
        link[i].prev = (uint16_t)(i == 0 ? size : i - 1);
    }
    return l;
}

void rb_olist_unref(struct rb_arena *a, struct rb_olist *l)
{
    if (l && --l->refs == 0)
        rb_arena_free(a, l, olist_bytes(l->size));
}

// Whole 64-byte lines: blocks of the arena are rounded up to them.
RB_SIMD static void copy_lines(void *restrict to, const void *restrict from, size_t bytes)
{
    uint64_t *t = __builtin_assume_aligned(to, 64);
    const uint64_t *f = __builtin_assume_aligned(from, 64);
    const size_t words = (bytes + 63) / 64 * 8;

    for (size_t i = 0; i < words; i++)
        t[i] = f[i];
}

// A list with more room: the same entries in the same order. Oldest first, so that each set() puts its entry
// in front of the older ones.
static void refill(struct rb_olist *to, const struct rb_olist *from)
{
    const struct rb_olist_link *link = rb_olist_links(from);

    for (uint32_t s = link[from->size].prev; s != from->size; s = link[s].prev)
        if (from->time[s])
            rb_olist_set(to, s, from->time[s]);
}

bool rb_olist_own(struct rb_arena *a, struct rb_olist **l, uint32_t slots, bool *copied)
{
    struct rb_olist *old = *l, *mine;

    *copied = false;
    if (RB_LIKELY(slots <= old->size)) {
        if (old->refs == 1)
            return true;
        mine = rb_arena_alloc(a, olist_bytes(old->size));
        if (!mine)
            return false;
        copy_lines(mine, old, olist_bytes(old->size));
        mine->refs = 1;
    } else {
        mine = rb_olist_new(a, slots);
        if (!mine)
            return false;
        refill(mine, old);
    }
    *copied = true;
    rb_olist_unref(a, old);
    *l = mine;
    return true;
}

uint64_t rb_olist_rising(const struct rb_olist *have, const struct rb_olist *seen, uint32_t from)
{
    const uint32_t n = seen->size - from < 64 ? seen->size - from : 64;
    uint64_t mask = 0;

    if (RB_UNLIKELY(from + n > have->size)) {
        for (uint32_t i = 0; i < n; i++)
            mask |= (uint64_t)(seen->time[from + i] > rb_olist_get(have, from + i)) << i;
        return mask;
    }
#if defined(__SSE2__)
    const __m128i *h = (const __m128i *)(const void *)(have->time + from);
    const __m128i *s = (const __m128i *)(const void *)(seen->time + from);
    for (uint32_t i = 0; i < n / 4; i++) {
        const __m128i more = _mm_cmpgt_epi32(_mm_load_si128(s + i), _mm_load_si128(h + i));
        mask |= (uint64_t)(unsigned)_mm_movemask_ps(_mm_castsi128_ps(more)) << (4 * i);
    }
#else
    for (uint32_t i = 0; i < n; i++)
        mask |= (uint64_t)(seen->time[from + i] > have->time[from + i]) << i;
#endif
    return mask;
}

bool rb_olist_check(const struct rb_olist *l)
{
    const struct rb_olist_link *link = rb_olist_links(l);
    uint32_t seen = 0;
    bool zeros = false;

    for (uint32_t s = link[l->size].next; s != l->size; s = link[s].next) {
        if (s > l->size || ++seen > l->size || link[link[s].next].prev != s || link[link[s].prev].next != s)
            return false;
        if (l->time[s] == 0)
            zeros = true;
        else if (zeros)
            return false;
    }
    return seen == l->size;
}
