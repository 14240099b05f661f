/*
 * A key's destructor that comes back in every lap, and in the last of them takes one lock and then another:
 * what it was told under the first reaches whoever takes the second.
 */
#include "../order.h"
#include <limits.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
pthread_key_t key;
int data[32], told RB_APART, passed_on RB_APART;

static void at_end(void *value)
{
    const long lap = (long)value;

    if (lap < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(key, (void *)(lap + 1));
        return;
    }
    rb_await(1);
    pthread_mutex_lock(&lock);
    const int seen = told;
    pthread_mutex_unlock(&lock);
    pthread_mutex_lock(&other);
    passed_on = seen;
    pthread_mutex_unlock(&other);
    rb_reach(2);
}

static void first(void)
{
    for (int i = 0; i < 32; i++)
        data[i] = 1;
    pthread_mutex_lock(&lock);
    told = 1;
    pthread_mutex_unlock(&lock);
    rb_reach(1);
}

static void second(void)
{
    pthread_setspecific(key, (void *)1);
}

static void third(void)
{
    rb_await(2);
    pthread_mutex_lock(&other);
    const int seen = passed_on;
    pthread_mutex_unlock(&other);
    for (int i = 0; i < 32 && seen; i++)
        rb_use(data[i]);
}

int main(void)
{
    pthread_key_create(&key, at_end);
    return rb_three(first, second, third);
}
