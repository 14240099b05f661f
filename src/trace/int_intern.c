#include "trace/int_intern.h"

#include <stdlib.h>

static void place_value(struct rb_int_intern *t, int32_t value, uint32_t id)
{
    uint32_t i = rb_int_home(t, value);

    while (t->slots[i].id_plus_1 != 0)
        i = (i + 1) & (t->capacity - 1);
    t->slots[i] = (struct rb_int_slot){.value = value, .id_plus_1 = id + 1};
}

static bool grow_values(struct rb_int_intern *t)
{
    const uint32_t capacity = t->capacity ? t->capacity * 2 : 1024;
    int32_t *values = realloc(t->values, (size_t)capacity / 2 * sizeof(values[0]));
    struct rb_int_slot *slots = calloc(capacity, sizeof(slots[0]));

    if (values)
        t->values = values;
    if (!values || !slots) {
        free(slots);
        return false;
    }
    free(t->slots);
    t->slots = slots;
    t->capacity = capacity;
    for (uint32_t id = 0; id < t->count; id++)
        place_value(t, values[id], id);
    return true;
}

uint32_t rb_int_add(struct rb_int_intern *t, int32_t value)
{
    if (t->count >= t->capacity / 2 && !grow_values(t))
        return RB_INTERN_NONE;
    t->values[t->count] = value;
    place_value(t, value, t->count);
    return t->count++;
}

void rb_int_free(struct rb_int_intern *t)
{
    free(t->slots);
    free(t->values);
    *t = (struct rb_int_intern){0};
}
