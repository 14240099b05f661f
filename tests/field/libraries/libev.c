// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libev-dev
// Flags: -lev
// libev: loops in two threads that wake each other by asynchronous watchers; the blocks are in queues under the program's own
// lock, as the manual asks for, and the release and acquire functions of the loop lock its state.
#include "planted.h"
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 200 };
struct loop {
    struct ev_loop *ev;
    ev_async wake;
    pthread_mutex_t lock, state;
    long *queue[COUNT];
    int queued, taken;
    long sum;
    struct loop *next;
};

static struct loop loops[2];

static void use(int thread)
{
    struct ev_loop *own = ev_loop_new(EVFLAG_AUTO);
    (void)thread;
    ev_run(own, EVRUN_NOWAIT);
    ev_loop_destroy(own);
}

static void send_block(struct loop *to, long *block)
{
    pthread_mutex_lock(&to->lock);
    to->queue[to->queued++] = block;
    pthread_mutex_unlock(&to->lock);
    ev_async_send(to->ev, &to->wake);
}

static void on_wake(struct ev_loop *ev, ev_async *watcher, int events)
{
    struct loop *loop = watcher->data;
    (void)events;
    pthread_mutex_lock(&loop->lock);
    while (loop->taken < loop->queued) {
        long *block = loop->queue[loop->taken++];
        loop->sum += *block;
        if (loop->next) {
            *block += 1;
            send_block(loop->next, block);
        } else {
            free(block);
        }
    }
    if (loop->taken == COUNT)
        ev_break(ev, EVBREAK_ALL);
    pthread_mutex_unlock(&loop->lock);
}

static void release(struct ev_loop *ev)
{
    pthread_mutex_unlock(&((struct loop *)ev_userdata(ev))->state);
}

static void acquire(struct ev_loop *ev)
{
    pthread_mutex_lock(&((struct loop *)ev_userdata(ev))->state);
}

static void *run(void *argument)
{
    struct loop *loop = argument;
    acquire(loop->ev);
    ev_run(loop->ev, 0);
    release(loop->ev);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    planted_start(argc, argv, use);
    for (int i = 0; i < 2; i++) {
        struct loop *loop = &loops[i];
        loop->ev = ev_loop_new(EVFLAG_AUTO);
        loop->next = i ? NULL : &loops[1];
        pthread_mutex_init(&loop->lock, NULL);
        pthread_mutex_init(&loop->state, NULL);
        ev_async_init(&loop->wake, on_wake);
        loop->wake.data = loop;
        ev_async_start(loop->ev, &loop->wake);
        ev_set_userdata(loop->ev, loop);
        ev_set_loop_release_cb(loop->ev, release, acquire);
    }
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, run, &loops[i]);
    for (int i = 0; i < COUNT; i++) {
        long *block = malloc(sizeof *block);
        *block = i;
        send_block(&loops[0], block);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    planted_end();
    printf("%ld %ld\n", loops[0].sum, loops[1].sum);
    return 0;
}
