// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libevent-dev
// Flags: -levent -levent_pthreads
// libevent with its locks for threads: events that another thread activates, once-events with blocks, buffers whose pieces are
// freed by the program in the thread that drains them.
#include "planted.h"
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/thread.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 200 };
static struct event_base *base;
static struct event *activated;
static long *handed, sum, freed, drained;

static void use(int thread)
{
    struct evbuffer *own = evbuffer_new();
    evbuffer_enable_locking(own, NULL);
    evbuffer_add(own, &thread, sizeof thread);
    evbuffer_free(own);
}

static void take_once(evutil_socket_t fd, short what, void *argument)
{
    long *block = argument;
    (void)fd;
    (void)what;
    sum += *block;
    free(block);
}

static void take_activated(evutil_socket_t fd, short what, void *unused)
{
    (void)fd;
    (void)what;
    (void)unused;
    sum += *handed;
    free(handed);
    event_base_loopexit(base, NULL);
}

static void *send_events(void *unused)
{
    struct timeval none = {0, 0};
    for (int i = 0; i < COUNT; i++) {
        long *block = malloc(sizeof *block);
        *block = i;
        event_base_once(base, -1, EV_TIMEOUT, take_once, block, &none);
    }
    usleep(20000);
    handed = malloc(sizeof *handed);
    *handed = 19;
    event_active(activated, EV_READ, 0);
    return unused;
}

static void free_piece(const void *data, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    freed += *(const char *)data;
    free((void *)data);
}

static void *fill(void *buffer)
{
    for (int i = 0; i < COUNT; i++) {
        char *piece = malloc(64);
        memset(piece, 1, 64);
        evbuffer_add_reference(buffer, piece, 64, free_piece, NULL);
    }
    return NULL;
}

static void *drain(void *buffer)
{
    while (drained < COUNT * 64) {
        char data[64];
        int count = evbuffer_remove(buffer, data, sizeof data);
        drained += count > 0 ? count : 0;
        if (count <= 0)
            usleep(100);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[3];
    evthread_use_pthreads();
    base = event_base_new();
    activated = event_new(base, -1, EV_PERSIST, take_activated, NULL);
    event_add(activated, NULL);
    struct evbuffer *buffer = evbuffer_new();
    evbuffer_enable_locking(buffer, NULL);
    planted_start(argc, argv, use);
    pthread_create(&threads[0], NULL, send_events, NULL);
    pthread_create(&threads[1], NULL, fill, buffer);
    pthread_create(&threads[2], NULL, drain, buffer);
    event_base_loop(base, EVLOOP_NO_EXIT_ON_EMPTY);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    planted_end();
    evbuffer_free(buffer);
    event_free(activated);
    event_base_free(base);
    printf("%ld %ld %ld\n", sum, freed, drained);
    return 0;
}
