/* A record on the heap brings its lock, and both go together, many times. */
#include "../order.h"

struct record {
    pthread_mutex_t mutex;
    int value;
};
struct record *one, *two;

static void first(void)
{
    pthread_mutex_lock(&one->mutex);
    one->value = 1;
    pthread_mutex_unlock(&one->mutex);
    rb_reach(1);
}

static void second(void)
{
    struct record *locked = one;

    rb_await(1);
    pthread_mutex_lock(&locked->mutex);
    one->value = 2;
    pthread_mutex_unlock(&locked->mutex);
}

static struct record *make(void)
{
    struct record *record = malloc(sizeof(*record));

    pthread_mutex_init(&record->mutex, NULL);
    record->value = 0;
    return record;
}

int main(void)
{
    for (int i = 0; i < 20; i++)
        free(make()); /* without destroying the mutex: a common habit */
    one = make();
    two = make();
    return rb_both(first, second);
}
