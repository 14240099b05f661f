/* The barrier made for tests of detectors, and a mutex. */
#include "../order.h"

void __tsan_testonly_barrier_init(void *barrier, unsigned count);
void __tsan_testonly_barrier_wait(void *barrier);

int data;
unsigned long long barrier;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void first(void)
{
    pthread_mutex_lock(&mutex);
    data = 1;
    pthread_mutex_unlock(&mutex);
    __tsan_testonly_barrier_wait(&barrier);
}

static void second(void)
{
    __tsan_testonly_barrier_wait(&barrier);
    pthread_mutex_lock(&mutex);
    data = 2;
    pthread_mutex_unlock(&mutex);
}

int main(void)
{
    __tsan_testonly_barrier_init(&barrier, 2);
    return rb_both(first, second);
}
