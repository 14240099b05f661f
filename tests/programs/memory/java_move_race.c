/* A block of Java's moves by less than its size, with what is known of it: the lock that was where it is now orders nothing. */
#include "../order.h"

typedef unsigned long place;
void __tsan_java_init(place heap, place size);
int __tsan_java_fini(void);
void __tsan_java_alloc(place object, place size);
void __tsan_java_free(place object, place size);
void __tsan_java_move(place from, place to, place size);
void __tsan_java_mutex_lock(place lock);
void __tsan_java_mutex_unlock(place lock);

enum { SIZE = 64, STEP = 32, LOCK = 21 };
static char heap[1 << 16] __attribute__((aligned(64)));

static void first(void)
{
    const place object = (place)heap;

    __tsan_java_alloc(object, SIZE);
    __tsan_java_mutex_lock(object + LOCK);
    ((volatile char *)object)[SIZE - 1] = 1; /* RACE 1 */
    __tsan_java_mutex_unlock(object + LOCK);
    __tsan_java_move(object, object + STEP, SIZE);
    rb_reach(1);
}

static void second(void)
{
    const place object = (place)heap + STEP;

    rb_await(1);
    __tsan_java_mutex_lock(object + LOCK - STEP);
    ((volatile char *)object)[SIZE - 1] = 2; /* RACE 2 */
    __tsan_java_mutex_unlock(object + LOCK - STEP);
    __tsan_java_free(object, SIZE);
}

int main(void)
{
    __tsan_java_init((place)heap, sizeof(heap));
    rb_both(first, second);
    return __tsan_java_fini();
}
