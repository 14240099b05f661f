// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libglib2.0-dev
// Flags: $(pkg-config --cflags --libs glib-2.0)
// GLib: locks and conditions (on futexes of its own), queues between threads, the pool of threads, one-time values, slices,
// the main loop's sources, reference counts, and bit locks.
#include "planted.h"
#include <glib.h>
#include <stdio.h>

enum { COUNT = 500 };
struct item {
    long number;
    char text[40];
};

static GMutex mutex, use_mutex[2];
static GCond cond;
static GRWLock rwlock;
static GRecMutex recursive;
static long guarded, shared_by_rwlock, shared_by_recursive, shared_by_bit, pooled, looped;
static int turn, bits;

static void use(int thread)
{
    g_mutex_lock(&use_mutex[thread]);
    g_mutex_unlock(&use_mutex[thread]);
    GAsyncQueue *own = g_async_queue_new();
    g_async_queue_push(own, own);
    g_async_queue_pop(own);
    g_async_queue_unref(own);
}

static gpointer make_once(gpointer unused)
{
    (void)unused;
    int *value = g_new(int, 1);
    *value = 42;
    return value;
}

static gpointer lock_all(gpointer data)
{
    static GOnce once = G_ONCE_INIT;
    static gsize initialized;
    static struct item table;
    int me = GPOINTER_TO_INT(data);
    long sum = *(int *)g_once(&once, make_once, NULL);
    if (g_once_init_enter(&initialized)) {
        table.number = 7;
        g_once_init_leave(&initialized, 1);
    }
    sum += table.number;
    for (int i = 0; i < COUNT; i++) {
        g_mutex_lock(&mutex);
        while (turn != me)
            g_cond_wait(&cond, &mutex);
        guarded++;
        turn = !turn;
        g_cond_broadcast(&cond);
        g_mutex_unlock(&mutex);

        g_rw_lock_writer_lock(&rwlock);
        shared_by_rwlock++;
        g_rw_lock_writer_unlock(&rwlock);
        g_rw_lock_reader_lock(&rwlock);
        sum += shared_by_rwlock >= 0;
        g_rw_lock_reader_unlock(&rwlock);

        g_rec_mutex_lock(&recursive);
        shared_by_recursive++;
        g_rec_mutex_unlock(&recursive);

        g_bit_lock(&bits, 3);
        shared_by_bit++;
        g_bit_unlock(&bits, 3);
    }
    return GINT_TO_POINTER((int)sum);
}

static gpointer produce(gpointer queue)
{
    for (int i = 0; i < COUNT; i++) {
        struct item *item = g_slice_new(struct item);
        item->number = i;
        g_snprintf(item->text, sizeof item->text, "item %d", i);
        g_async_queue_push(queue, item);
    }
    g_async_queue_unref(queue);
    return NULL;
}

static void add_to_pool(gpointer data, gpointer results)
{
    struct item *item = data;
    item->number *= 2;
    g_async_queue_push(results, item);
}

static gboolean add_in_loop(gpointer data)
{
    struct item *item = data;
    looped += item->number;
    g_free(item);
    return G_SOURCE_REMOVE;
}

static gboolean quit(gpointer loop)
{
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

static gpointer run_loop(gpointer loop)
{
    g_main_loop_run(loop);
    return NULL;
}

static void attach(GMainContext *context, GSourceFunc function, gpointer data)
{
    GSource *source = g_idle_source_new();
    g_source_set_priority(source, G_PRIORITY_DEFAULT);
    g_source_set_callback(source, function, data, NULL);
    g_source_attach(source, context);
    g_source_unref(source);
}

int main(int argc, char **argv)
{
    planted_start(argc, argv, use);
    GThread *lockers[2];
    for (int i = 0; i < 2; i++)
        lockers[i] = g_thread_new("locker", lock_all, GINT_TO_POINTER(i));

    GAsyncQueue *queue = g_async_queue_new(), *results = g_async_queue_new();
    GThread *producer = g_thread_new("producer", produce, g_async_queue_ref(queue));
    GThreadPool *pool = g_thread_pool_new(add_to_pool, results, 2, FALSE, NULL);
    for (int i = 0; i < COUNT; i++)
        g_thread_pool_push(pool, g_async_queue_pop(queue), NULL);
    for (int i = 0; i < COUNT; i++) {
        struct item *item = g_async_queue_pop(results);
        pooled += item->number + (item->text[0] == 'i');
        g_slice_free(struct item, item);
    }
    g_thread_pool_free(pool, FALSE, TRUE);

    GMainContext *context = g_main_context_new();
    GMainLoop *loop = g_main_loop_new(context, FALSE);
    GThread *runner = g_thread_new("loop", run_loop, loop);
    for (int i = 0; i < COUNT / 5; i++) {
        struct item *item = g_new(struct item, 1);
        item->number = i;
        attach(context, add_in_loop, item);
    }
    attach(context, quit, loop);
    g_thread_join(runner);
    long sums = 0;
    for (int i = 0; i < 2; i++)
        sums += GPOINTER_TO_INT(g_thread_join(lockers[i]));
    g_thread_join(producer);
    planted_end();
    printf("%ld %ld %ld %ld %ld %ld %ld\n", guarded, shared_by_rwlock, shared_by_recursive, shared_by_bit,
           pooled, looped, sums);
    return 0;
}
