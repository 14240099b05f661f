// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine/engine.h"

const struct rb_engine_ops *const rb_engines[] = {&rb_djit, &rb_fasttrack, &rb_st, &rb_su, &rb_so, NULL};

static bool is_same_text(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

const struct rb_engine_ops *rb_engine_find(const char *name)
{
    for (int i = 0; rb_engines[i]; i++)
        if (is_same_text(rb_engines[i]->name, name))
            return rb_engines[i];
    return NULL;
}
