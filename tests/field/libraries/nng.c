// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libnng-dev
// Flags: -lnng
// NNG in one process: pipelines whose messages carry pointers, asynchronous operations whose callbacks run in its threads, and
// its own locks.
#include "planted.h"
#include <nng/nng.h>
#include <nng/protocol/pipeline0/pull.h>
#include <nng/protocol/pipeline0/push.h>
#include <nng/supplemental/util/platform.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 300 };
struct item {
    long number, square;
};
struct sleeper {
    nng_aio *aio;
    long in, out;
};

static nng_socket push, pull;
static nng_mtx *mutex;
static nng_cv *cv;
static long under_mutex, slept;
static int pending;

static void use(int thread)
{
    nng_mtx *own;
    (void)thread;
    nng_mtx_alloc(&own);
    nng_mtx_lock(own);
    nng_mtx_unlock(own);
    nng_mtx_free(own);
}

static void send_items(void *unused)
{
    for (long i = 0; i < COUNT; i++) {
        struct item *item = malloc(sizeof *item);
        *item = (struct item){i, i * i};
        nng_send(push, &item, sizeof(void *), 0);
        nng_mtx_lock(mutex);
        under_mutex++;
        nng_mtx_unlock(mutex);
    }
    (void)unused;
}

static void wake(void *argument)
{
    struct sleeper *sleeper = argument;
    sleeper->out = sleeper->in * 2;
    nng_mtx_lock(mutex);
    slept += sleeper->out;
    pending--;
    nng_cv_wake(cv);
    nng_mtx_unlock(mutex);
}

static void finish(void *unused)
{
    (void)unused;
}

int main(int argc, char **argv)
{
    nng_thread *sender;
    struct sleeper sleepers[20];
    long sum = 0;
    nng_pull0_open(&pull);
    nng_push0_open(&push);
    nng_listen(pull, "inproc://field", NULL, 0);
    nng_dial(push, "inproc://field", NULL, 0);
    nng_mtx_alloc(&mutex);
    nng_cv_alloc(&cv, mutex);
    planted_start(argc, argv, use);
    nng_thread_create(&sender, send_items, NULL);
    for (int i = 0; i < COUNT; i++) {
        struct item *item;
        size_t size = sizeof(void *);
        nng_recv(pull, &item, &size, 0);
        sum += item->number + item->square;
        free(item);
        nng_mtx_lock(mutex);
        under_mutex++;
        nng_mtx_unlock(mutex);
    }
    nng_thread_destroy(sender);
    pending = 20;
    for (int i = 0; i < 20; i++) {
        sleepers[i].in = i;
        nng_aio_alloc(&sleepers[i].aio, wake, &sleepers[i]);
        nng_sleep_aio(i % 3, sleepers[i].aio);
    }
    nng_mtx_lock(mutex);
    while (pending)
        nng_cv_wait(cv);
    nng_mtx_unlock(mutex);
    for (int i = 0; i < 20; i++) {
        nng_aio_free(sleepers[i].aio);
        sum += sleepers[i].out;
    }
    nng_aio *aio;
    nng_aio_alloc(&aio, finish, NULL);
    long *handed = malloc(sizeof *handed);
    *handed = 5;
    nng_aio_set_output(aio, 0, handed);
    nng_sleep_aio(1, aio);
    nng_aio_wait(aio);
    free(handed);
    nng_aio_free(aio);
    planted_end();
    nng_close(push);
    nng_close(pull);
    printf("%ld %ld %ld\n", sum, under_mutex, slept);
    return 0;
}
