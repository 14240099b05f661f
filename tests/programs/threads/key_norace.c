/* What a key's destructor wrote is used after the thread was joined. */
#include "../order.h"

int data;
pthread_key_t key;

static void destroy(void *value)
{
    *(int *)value = 1;
    rb_reach(1);
}

static void child(void)
{
    pthread_setspecific(key, &data);
}

int main(void)
{
    pthread_t thread;

    pthread_key_create(&key, destroy);
    thread = rb_start(child);
    rb_await(1);
    pthread_join(thread, NULL);
    data = 2;
    pthread_key_delete(key);
    return rb_done();
}
