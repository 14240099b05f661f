// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts that unlocked.c and locked.c share: two threads, and an order between them that no detector sees,
// because the compiler does not instrument its instructions.
#ifndef RB_CMD_DOCTOR_SELFTEST_SELFTEST_H
#define RB_CMD_DOCTOR_SELFTEST_SELFTEST_H

#include <pthread.h>
#include <unistd.h>

static int rb_unseen; // accessed only by the two functions below

static inline void rb_unseen_signal(void)
{
    __asm__ volatile("movl $1, %0" : "=m"(rb_unseen) : : "memory");
}

static inline void rb_unseen_wait(void)
{
    int value;

    for (;;) {
        __asm__ volatile("movl %1, %0" : "=r"(value) : "m"(rb_unseen) : "memory");
        if (value)
            return;
        usleep(100);
    }
}

static inline int rb_two_threads(void *(*first)(void *), void *(*second)(void *))
{
    pthread_t one, two;

    if (pthread_create(&one, NULL, first, NULL) || pthread_create(&two, NULL, second, NULL))
        return 3;
    if (pthread_join(one, NULL) || pthread_join(two, NULL))
        return 3;
    return 0;
}

#endif
