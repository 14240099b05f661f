// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The two programs of `railbird run --self-test`: two threads write one variable. The second waits for the first
// in a way that the runtime does not see: inline assembly in functions without instrumentation. So both writes
// happen in every run, one after the other. `unlocked` has no order between them: the planted race. `locked`, built
// with LOCKED=1, has the same two writes under a lock: a report there is a false one.
#include <pthread.h>
#include <unistd.h>

static int seen; // accessed only by the two functions below

#define UNSEEN __attribute__((no_sanitize("thread"))) static

UNSEEN void signal_unseen(void)
{
    __asm__ volatile("movl $1, %0" : "=m"(seen) : : "memory");
}

UNSEEN void wait_unseen(void)
{
    int value;

    for (;;) {
        __asm__ volatile("movl %1, %0" : "=r"(value) : "m"(seen) : "memory");
        if (value)
            return;
        usleep(100);
    }
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int shared; // not static: a compiler may remove a variable without readers

static void *write_first(void *unused)
{
    if (LOCKED)
        pthread_mutex_lock(&lock);
    shared = 1;
    if (LOCKED)
        pthread_mutex_unlock(&lock);
    signal_unseen();
    return unused;
}

static void *write_second(void *unused)
{
    wait_unseen();
    if (LOCKED)
        pthread_mutex_lock(&lock);
    shared = 2;
    if (LOCKED)
        pthread_mutex_unlock(&lock);
    return unused;
}

int main(void)
{
    pthread_t one, two;

    if (pthread_create(&one, NULL, write_first, NULL) || pthread_create(&two, NULL, write_second, NULL))
        return 3;
    if (pthread_join(one, NULL) || pthread_join(two, NULL))
        return 3;
    return 0;
}
