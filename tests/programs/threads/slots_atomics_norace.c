/* A thread's writes reach others by way of a later thread that may have its place in the detector's clocks.
 */
#include "../order.h"
#include <stdatomic.h>

enum { LATER = 120 };
int data[64];
atomic_int from[LATER], to[LATER];

static void *first(void *nothing)
{
    for (int i = 0; i < 64; i++)
        data[i] = i;
    for (int i = 0; i < LATER; i++)
        atomic_store_explicit(&from[i], 1, memory_order_release);
    rb_reach(2);
    return nothing;
}

static void *later(void *number)
{
    const int n = (int)(long)number;

    if (atomic_load_explicit(&from[n], memory_order_acquire))
        atomic_store_explicit(&to[n], 1, memory_order_release);
    rb_reach(3 + n);
    return NULL;
}

static void *reader(void *number)
{
    const int n = (int)(long)number;

    rb_await(3 + n);
    if (atomic_load_explicit(&to[n], memory_order_acquire))
        for (int i = 0; i < 64; i++)
            rb_use(data[i]);
    return NULL;
}

int main(void)
{
    pthread_t thread, readers[LATER];
    pthread_attr_t detached;

    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (long i = 0; i < LATER; i++)
        RB_CHECK(pthread_create(&readers[i], NULL, reader, (void *)i) == 0);
    RB_CHECK(pthread_create(&thread, &detached, first, NULL) == 0);
    rb_await(2);
    for (long i = 0; i < LATER; i++) {
        RB_CHECK(pthread_create(&thread, &detached, later, (void *)i) == 0);
        rb_await(3 + (int)i);
        usleep(200);
    }
    for (int i = 0; i < LATER; i++)
        pthread_join(readers[i], NULL);
    return rb_done();
}
