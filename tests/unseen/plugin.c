// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A plugin of closes.c. Its own copy of the library, by another name, comes and goes with it.
#include "unseen/library.h"

void copy_lock(int *lock);
void copy_unlock(int *lock);
void plugin_add(int *lock, long *sum);

static int own_lock;
static long own_sum;

void plugin_add(int *lock, long *sum)
{
    copy_lock(&own_lock);
    own_sum++;
    copy_unlock(&own_lock);
    quiet_lock(lock);
    ++*sum;
    quiet_unlock(lock);
}
