/*
 * Who destroys has heard of the last use by the lock itself: the last of two to drop an object with a mutex
 * inside destroys it, and one who was woken destroys what it has waited on. Many times over, so that the
 * memory is had again.
 */
#include "../order.h"

struct object {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    int users, ready;
};
static struct object *object;

static void drop(struct object *o)
{
    pthread_mutex_lock(&o->mutex);
    const int last = --o->users == 0;
    pthread_mutex_unlock(&o->mutex);
    if (!last)
        return;
    pthread_mutex_destroy(&o->mutex);
    pthread_cond_destroy(&o->condition);
    free(o);
}

static void waker(void)
{
    struct object *o = object;

    pthread_mutex_lock(&o->mutex);
    o->ready = 1;
    pthread_cond_broadcast(&o->condition);
    pthread_mutex_unlock(&o->mutex);
    drop(o);
}

int main(void)
{
    for (int i = 0; i < 100; i++) {
        struct object *o = malloc(sizeof(*o));
        RB_CHECK(o != NULL);
        pthread_mutex_init(&o->mutex, NULL);
        pthread_cond_init(&o->condition, NULL);
        o->users = 2;
        o->ready = 0;
        object = o;
        pthread_t other = rb_start(waker);
        pthread_mutex_lock(&o->mutex);
        while (!o->ready)
            pthread_cond_wait(&o->condition, &o->mutex);
        pthread_mutex_unlock(&o->mutex);
        drop(o);
        pthread_join(other, NULL);
    }
    return rb_done();
}
