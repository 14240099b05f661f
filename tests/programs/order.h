/*
 * The order of a test program's threads, kept where no detector can see it.
 *
 * A program counts steps: rb_reach(n) says that step n is done, rb_await(n) returns once it is. Both are
 * inline assembly, a locked exchange, a plain move and the futex system call, in functions without
 * instrumentation, so that no access and no order of theirs is seen, and no interceptor is passed: the accesses of a program come in the same order in time in
 * every run, yet nothing happens before anything unless the primitive under test says so. A detector that is
 * right in one run is right in all.
 *
 * Steps only grow. A system call made this way is no cancellation point and leaves errno alone.
 */
#ifndef RB_ORDER_H
#define RB_ORDER_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define RB_UNSEEN __attribute__((unused, no_sanitize("thread"))) static

/* Before a declaration: each variable in words of its own, so that a report about one is not one about its
 * neighbour. */
#define RB_APART __attribute__((aligned(16)))

/* Keeps a value that was read only to be read. */
#define rb_use(value) __asm__ volatile("" : : "r"(value))

/* Keeps what memory at the address holds, and the address itself, from the optimiser. */
#define rb_escape(address) __asm__ volatile("" : : "r"(address) : "memory")

/* Makes the compiler forget where a pointer points: it may leave accesses of its own locals uninstrumented.
 */
#define rb_forget(pointer) __asm__ volatile("" : "+r"(pointer) : : "memory")

/* The last step done. Only the assembly below touches it. */
static int rb_reached;

RB_UNSEEN void rb_futex(long operation, long value)
{
    register long timeout __asm__("r10") = 0;
    long number = 202; /* SYS_futex */

    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"(&rb_reached), "S"(operation), "d"(value), "r"(timeout)
                     : "rcx", "r11", "memory");
}

RB_UNSEEN int rb_at(int step)
{
    int seen;

    __asm__ volatile("movl %1, %0" : "=r"(seen) : "m"(rb_reached) : "memory");
    return seen >= step;
}

RB_UNSEEN void rb_reach(int step)
{
    int value = step;

    __asm__ volatile("xchgl %0, %1" : "+r"(value), "+m"(rb_reached) : : "memory");
    rb_futex(129, 0x7fffffff); /* FUTEX_WAKE_PRIVATE, everyone */
}

RB_UNSEEN void rb_await(int step)
{
    int seen;

    for (;;) {
        __asm__ volatile("movl %1, %0" : "=r"(seen) : "m"(rb_reached) : "memory");
        if (seen >= step)
            return;
        rb_futex(128, seen); /* FUTEX_WAIT_PRIVATE */
    }
}

/* Hand an address to another thread unseen. */
RB_UNSEEN void rb_put(void *place, const void *address)
{
    __asm__ volatile("movq %1, (%0)" : : "r"(place), "r"(address) : "memory");
}

RB_UNSEEN void *rb_get(void *place)
{
    void *address;

    __asm__ volatile("movq (%1), %0" : "=r"(address) : "r"(place) : "memory");
    return address;
}

/* As rb_await, but through a blocking call of libc again and again: signal handlers get their turn. */
RB_UNSEEN void rb_await_signals(int step)
{
    while (!rb_at(step))
        usleep(500);
}

/* Ends the program if a call that has to work did not. */
RB_UNSEEN void rb_check(int holds, const char *what)
{
    if (holds)
        return;
    printf("failed: %s\n", what);
    exit(3);
}
#define RB_CHECK(condition) rb_check((condition) ? 1 : 0, #condition)

static inline void *rb_call(void *body)
{
    ((void (*)(void))body)();
    return NULL;
}

static inline pthread_t rb_start(void (*body)(void))
{
    pthread_t thread;

    RB_CHECK(pthread_create(&thread, NULL, rb_call, (void *)body) == 0);
    return thread;
}

/* The last words of every program: what main returns. */
static inline int rb_done(void)
{
    puts("done");
    fflush(stdout);
    return 0;
}

static inline int rb_both(void (*first)(void), void (*second)(void))
{
    pthread_t a = rb_start(first), b = rb_start(second);

    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return rb_done();
}

static inline int rb_three(void (*first)(void), void (*second)(void), void (*third)(void))
{
    pthread_t a = rb_start(first), b = rb_start(second), c = rb_start(third);

    pthread_join(a, NULL);
    pthread_join(b, NULL);
    pthread_join(c, NULL);
    return rb_done();
}

#endif
