// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libglib2.0-dev
// Flags: $(pkg-config --cflags --libs gio-2.0 gobject-2.0)
// GObject and GIO: objects with reference counts and weak references, tasks in threads that return to the caller's main
// context, cancellables, and resolved byte blocks that several threads share.
#include "planted.h"
#include <gio/gio.h>
#include <stdio.h>

enum { TASKS = 100 };
struct job {
    long in, out;
};

static long finished, cancelled;
static GMainLoop *loop;

static void use(int thread)
{
    GObject *own = g_object_new(G_TYPE_OBJECT, NULL);
    g_object_set_data(own, "thread", GINT_TO_POINTER(thread));
    g_object_unref(own);
}

static void work(GTask *task, gpointer source, gpointer data, GCancellable *cancellable)
{
    struct job *job = data;
    (void)source;
    (void)cancellable;
    job->out = job->in * 3;
    long *result = g_new(long, 1);
    *result = job->out + 1;
    g_task_return_pointer(task, result, g_free);
}

static void done(GObject *source, GAsyncResult *result, gpointer unused)
{
    struct job *job = g_task_get_task_data(G_TASK(result));
    long *value = g_task_propagate_pointer(G_TASK(result), NULL);
    (void)source;
    (void)unused;
    finished += *value + job->out;
    g_free(value);
    if (!--cancelled)
        g_main_loop_quit(loop);
}

// Reads a block that the other thread may read as well, and drops its reference; the last one frees the block.
static gpointer read_bytes(gpointer data)
{
    GBytes *bytes = data;
    gsize size;
    const guint8 *at = g_bytes_get_data(bytes, &size);
    long sum = 0;
    for (gsize i = 0; i < size; i++)
        sum += at[i];
    g_bytes_unref(bytes);
    return GINT_TO_POINTER((int)sum);
}

struct counted {
    int value;
    int *destroyed;
};

static void destroy(gpointer data)
{
    struct counted *counted = data;
    *counted->destroyed += counted->value;
}

static gpointer release_box(gpointer data)
{
    struct counted *counted = data;
    counted->value++; // one of the two threads alone: the other only drops its reference
    g_atomic_rc_box_release_full(counted, destroy);
    return NULL;
}

static gpointer release_only(gpointer data)
{
    g_atomic_rc_box_release_full(data, destroy);
    return NULL;
}

int main(int argc, char **argv)
{
    planted_start(argc, argv, use);
    loop = g_main_loop_new(NULL, FALSE);
    cancelled = TASKS;
    for (int i = 0; i < TASKS; i++) {
        struct job *job = g_new0(struct job, 1);
        GTask *task = g_task_new(NULL, NULL, done, NULL);
        job->in = i;
        g_task_set_task_data(task, job, g_free);
        g_task_run_in_thread(task, work);
        g_object_unref(task);
    }
    g_main_loop_run(loop);

    long sum = 0;
    int destroyed = 0;
    for (int i = 0; i < 20; i++) {
        guint8 *block = g_malloc(100);
        memset(block, i, 100);
        GBytes *bytes = g_bytes_new_take(block, 100);
        GThread *reader = g_thread_new("reader", read_bytes, g_bytes_ref(bytes));
        sum += GPOINTER_TO_INT(read_bytes(bytes));
        sum += GPOINTER_TO_INT(g_thread_join(reader));

        struct counted *box = g_atomic_rc_box_new(struct counted);
        box->value = i;
        box->destroyed = &destroyed;
        g_atomic_rc_box_acquire(box);
        GThread *first = g_thread_new("first", release_box, box),
                *second = g_thread_new("second", release_only, box);
        g_thread_join(first);
        g_thread_join(second);
    }
    planted_end();
    printf("%ld %ld %d\n", finished, sum, destroyed);
    return 0;
}
