// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/handoff.h"

void rb_handoff_init(struct rb_handoff *h)
{
    *h = (struct rb_handoff){.stop = false};
    pthread_mutex_init(&h->mutex, NULL);
    pthread_cond_init(&h->changed, NULL);
}

void rb_handoff_destroy(struct rb_handoff *h)
{
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->mutex);
}

static void set_flag(struct rb_handoff *h, bool *flag, bool value)
{
    pthread_mutex_lock(&h->mutex);
    *flag = value;
    pthread_cond_signal(&h->changed);
    pthread_mutex_unlock(&h->mutex);
}

bool rb_handoff_await_empty(struct rb_handoff *h, uint32_t place)
{
    bool go;

    pthread_mutex_lock(&h->mutex);
    while (h->full[place] && !h->stop)
        pthread_cond_wait(&h->changed, &h->mutex);
    go = !h->stop;
    pthread_mutex_unlock(&h->mutex);
    return go;
}

void rb_handoff_filled(struct rb_handoff *h, uint32_t place)
{
    set_flag(h, &h->full[place], true);
}

void rb_handoff_await_full(struct rb_handoff *h, uint32_t place)
{
    pthread_mutex_lock(&h->mutex);
    while (!h->full[place])
        pthread_cond_wait(&h->changed, &h->mutex);
    pthread_mutex_unlock(&h->mutex);
}

void rb_handoff_used(struct rb_handoff *h, uint32_t place)
{
    set_flag(h, &h->full[place], false);
}

void rb_handoff_stop(struct rb_handoff *h)
{
    set_flag(h, &h->stop, true);
}
