// A thread that opens and closes the gates of all functions at random, without a pause. The program beside it
// must not notice.
#ifndef RB_TESTS_BODIES_FLIP_H
#define RB_TESTS_BODIES_FLIP_H

#include <pthread.h>

#ifdef __cplusplus
extern "C" {
#endif

extern unsigned char __start_rb_gates[] __attribute__((weak, visibility("hidden")));
extern unsigned char __stop_rb_gates[] __attribute__((weak, visibility("hidden")));
static int flipping = 1;

__attribute__((no_sanitize("thread"))) static void *flip_gates(void *nothing)
{
    unsigned seed = 12345;

    while (__atomic_load_n(&flipping, __ATOMIC_RELAXED))
        for (unsigned char *gate = __start_rb_gates; gate < __stop_rb_gates; gate++) {
            seed = seed * 1103515245u + 12345u;
            __atomic_store_n(gate, seed >> 16 & 1, __ATOMIC_RELAXED);
        }
    return nothing;
}

// How many there are; 0 in a plain build.
static inline long flip_count(void)
{
    return &__stop_rb_gates[0] - &__start_rb_gates[0];
}

static inline long flip_begin(pthread_t *thread)
{
    if (flip_count())
        pthread_create(thread, NULL, flip_gates, NULL);
    return flip_count();
}

static inline void flip_end(pthread_t thread)
{
    if (!flip_count())
        return;
    __atomic_store_n(&flipping, 0, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
}

#ifdef __cplusplus
}
#endif

#endif
