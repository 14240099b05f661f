#include "lab/replay/id_map.h"

#include <stdlib.h>

#include "base/rng.h"

#define FIRST_CAPACITY 1024u

static struct rb_id_slot *find_slot(const struct rb_id_map *m, uint64_t key)
{
    const uint64_t mask = m->capacity - 1;
    uint64_t i = rb_mix64(key) & mask;

    while (m->slots[i].round == m->round && m->slots[i].key != key)
        i = (i + 1) & mask;
    return &m->slots[i];
}

static bool grow_map(struct rb_id_map *m)
{
    struct rb_id_map bigger = {.capacity = m->capacity ? 2 * m->capacity : FIRST_CAPACITY, .round = 1};

    bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
    if (!bigger.slots)
        return false;
    for (uint64_t i = 0; i < m->capacity; i++) {
        if (m->slots[i].round != m->round)
            continue;
        struct rb_id_slot *s = find_slot(&bigger, m->slots[i].key);
        *s = (struct rb_id_slot){m->slots[i].key, m->slots[i].value, 1};
    }
    bigger.count = m->count;
    free(m->slots);
    *m = bigger;
    return true;
}

uint32_t rb_id_map_get(struct rb_id_map *m, uint64_t key)
{
    if (RB_UNLIKELY(2 * (uint64_t)m->count >= m->capacity) && !grow_map(m))
        return UINT32_MAX;
    struct rb_id_slot *s = find_slot(m, key);
    if (s->round != m->round)
        *s = (struct rb_id_slot){key, m->count++, m->round};
    return s->value;
}

void rb_id_map_clear(struct rb_id_map *m)
{
    m->count = 0;
    if (++m->round == 0) { // wrapped: stale rounds could look current
        for (uint64_t i = 0; i < m->capacity; i++)
            m->slots[i].round = 0;
        m->round = 1;
    }
}

void rb_id_map_free(struct rb_id_map *m)
{
    free(m->slots);
    *m = (struct rb_id_map){0};
}
