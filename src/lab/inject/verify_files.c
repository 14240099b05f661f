// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Maps two files to one numbering, by names, for the verifier.
//
// Entries of INJECTED get the number of their name in BASE, or one behind all of BASE's if BASE lacks the
// name. A table may have one name several times: the k-th such entry of one file is the k-th of the other.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lab/inject/verify.h"
#include "trace/intern.h"

struct numbering {
    struct rb_intern names;
    uint64_t *first; // for each name the first entry of BASE that has it
    uint64_t *again; // for each entry of BASE the next with the same name; UINT64_MAX: none
};

static uint32_t add_name(struct rb_intern *t, const struct rb_reader *r, enum rbt_table table, uint64_t id)
{
    char scratch[32], padded[256 + RB_INTERN_PAD], *copy = padded;
    const char *name = rb_reader_name(r, table, id, scratch);
    const size_t length = strlen(name);
    uint32_t number;

    if (length >= UINT32_MAX - 64)
        return RB_INTERN_NONE;
    if (length + RB_INTERN_PAD > sizeof(padded)) // a lookup reads past the name
        copy = malloc(length + RB_INTERN_PAD);
    if (!copy)
        return RB_INTERN_NONE;
    memcpy(copy, name, length);
    memset(copy + length, 0, RB_INTERN_PAD);
    number = rb_intern_add(t, copy, (uint32_t)length);
    if (copy != padded)
        free(copy);
    return number;
}

static bool number_base(struct numbering *n, const struct rb_reader *base, enum rbt_table table)
{
    const uint64_t count = rb_reader_count(base, table);
    uint64_t *last;

    n->first = malloc((count + 1) * sizeof(*n->first));
    n->again = malloc((count + 1) * sizeof(*n->again));
    last = malloc((count + 1) * sizeof(*last));
    bool good = n->first && n->again && last;
    for (uint64_t i = 0; good && i < count; i++) {
        const uint32_t before = n->names.count, id = add_name(&n->names, base, table, i);
        good = id != RB_INTERN_NONE;
        if (!good)
            break;
        n->again[i] = UINT64_MAX;
        if (id == before)
            n->first[id] = i;
        else
            n->again[last[id]] = i;
        last[id] = i;
    }
    free(last);
    return good;
}

// Maps entry i of `injected` to map[i] in the numbering of `base`. Returns NULL when memory is out.
static uint64_t *map_table(const struct rb_reader *base, const struct rb_reader *injected,
                           enum rbt_table table, uint64_t *fresh)
{
    const uint64_t count = rb_reader_count(injected, table), known = rb_reader_count(base, table);
    uint64_t *map = malloc((count + 1) * sizeof(*map));
    struct numbering n = {0};

    *fresh = 0;
    if (!map)
        return NULL;
    if (!base->names[table].bytes && !injected->names[table].bytes) { // both count from 0
        for (uint64_t i = 0; i < count; i++)
            map[i] = i;
        *fresh = count > known ? count - known : 0;
        return map;
    }
    bool good = number_base(&n, base, table);
    const uint32_t named = n.names.count;
    for (uint64_t i = 0; good && i < count; i++) {
        const uint32_t id = add_name(&n.names, injected, table, i);
        good = id != RB_INTERN_NONE;
        if (!good)
            break;
        if (id >= named || n.first[id] == UINT64_MAX) { // BASE lacks the name, or has it fewer times
            map[i] = known + (*fresh)++;
        } else {
            map[i] = n.first[id];
            n.first[id] = n.again[map[i]];
        }
    }
    rb_intern_free(&n.names);
    free(n.first);
    free(n.again);
    if (good)
        return map;
    free(map);
    return NULL;
}

static int renumber_events(struct rb_reader *base, struct rb_reader *injected, struct rb_events *events,
                           struct rb_verify_world *w, struct rb_error *e)
{
    uint64_t *map[RBT_TABLES] = {NULL}, fresh[RBT_TABLES];
    int status = 0;

    for (int t = 0; t < RBT_TABLES && status == 0; t++) {
        map[t] = map_table(base, injected, (enum rbt_table)t, &fresh[t]);
        if (!map[t])
            status = rb_internal(e, "out of memory for names");
    }
    for (uint64_t i = 0; status == 0 && i < events->count; i++) {
        struct rb_event *event = &events->at[i];
        event->thread = (uint32_t)map[RBT_THREADS][event->thread];
        event->location = (uint32_t)map[RBT_LOCATIONS][event->location];
        event->target = map[rb_table_of_space[rb_op_info[event->op].space]][event->target];
    }
    if (status == 0) {
        w->threads = rb_reader_count(base, RBT_THREADS) + fresh[RBT_THREADS];
        w->locks = rb_reader_count(base, RBT_LOCKS) + fresh[RBT_LOCKS];
        w->variables = rb_reader_count(base, RBT_VARIABLES) + fresh[RBT_VARIABLES];
    }
    for (int t = 0; t < RBT_TABLES; t++)
        free(map[t]);
    return status;
}

int rb_verify_files(struct rb_reader *base, struct rb_reader *injected, struct rb_verify_pair *pair,
                    struct rb_error *e)
{
    struct rb_verify_world w = {.names = base, .base_path = base->path, .other_path = injected->path};
    struct rb_events a = {0}, b = {0};
    struct rb_event first;
    int status = rb_reader_load_names(base, e);

    if (status == 0)
        status = rb_reader_load_names(injected, e);
    if (status == 0)
        status = rb_events_load(base, &a, e);
    if (status == 0)
        status = rb_events_load(injected, &b, e);
    if (status == 0)
        status = renumber_events(base, injected, &b, &w, e);
    if (status == 0)
        status = rb_verify_injected(&w, a.at, a.count, b.at, b.count, a.table[RBT_VARIABLES], pair, e);
    if (status == 0)
        status = rb_reader_event(injected, pair->at[0], &first, e);
    if (status == 0)
        pair->variable = first.target; // in the numbering of INJECTED
    rb_events_free(&a);
    rb_events_free(&b);
    return status;
}
