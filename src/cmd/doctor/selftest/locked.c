// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The twin of unlocked.c: the same two writes in the same order, under a lock. A report here is a false one.
#include <pthread.h>

#include "cmd/doctor/selftest/selftest.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int shared; // not static: a compiler may remove a variable without readers

static void *write_first(void *unused)
{
    pthread_mutex_lock(&lock);
    shared = 1;
    pthread_mutex_unlock(&lock);
    rb_unseen_signal();
    return unused;
}

static void *write_second(void *unused)
{
    rb_unseen_wait();
    pthread_mutex_lock(&lock);
    shared = 2;
    pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    return rb_two_threads(write_first, write_second);
}
