// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run/unseen/rmw.h"
int rb_rmw_table_find(const struct rb_module *module, struct rb_rmw_table *out)
{
    (void)module;
    (void)out;
    return -1;
}
