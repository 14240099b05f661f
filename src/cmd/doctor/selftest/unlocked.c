// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The planted race of `railbird run --self-test`: two threads write one variable. The second waits for the
// first in a way that the runtime does not see. So both writes happen in every run, one after the other, and
// nothing orders them. Its twin is locked.c.
#include <pthread.h>

#include "cmd/doctor/selftest/selftest.h"

int shared; // not static: a compiler may remove a variable without readers

static void *write_first(void *unused)
{
    shared = 1;
    rb_unseen_signal();
    return unused;
}

static void *write_second(void *unused)
{
    rb_unseen_wait();
    shared = 2;
    return unused;
}

int main(void)
{
    return rb_two_threads(write_first, write_second);
}
