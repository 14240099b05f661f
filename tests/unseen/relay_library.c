// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A second library without hooks, which passes items on to the first.
#include "unseen/library.h"

int relay_push(struct quiet_queue *q, void *item);

int relay_push(struct quiet_queue *q, void *item)
{
    return quiet_push(q, item);
}
