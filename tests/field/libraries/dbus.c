// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libdbus-1-dev
// Flags: $(pkg-config --cflags --libs dbus-1)
// libdbus without a bus: a server on a socket and its client in two threads of one process, replies that another thread waits
// for, data slots, and messages whose reference counts several threads change.
#include "planted.h"
#include <dbus/dbus.h>
#include <stdio.h>
#include <stdlib.h>

enum { CALLS = 50, SHARED = 100 };

static dbus_int32_t slot = -1;
static long freed;

static void use(int thread)
{
    DBusMessage *own = dbus_message_new_signal("/own", "a.b", thread ? "One" : "Zero");
    dbus_message_unref(own);
}

static void free_data(void *data)
{
    freed += *(long *)data;
    free(data);
}

static DBusHandlerResult answer(DBusConnection *connection, DBusMessage *message, void *data)
{
    dbus_int32_t number = 0;
    DBusMessage *reply;

    if (dbus_message_is_signal(message, DBUS_INTERFACE_LOCAL, "Disconnected")) {
        *(int *)data = 1;
        return DBUS_HANDLER_RESULT_HANDLED;
    }
    dbus_message_get_args(message, NULL, DBUS_TYPE_INT32, &number, DBUS_TYPE_INVALID);
    number *= 2;
    reply = dbus_message_new_method_return(message);
    dbus_message_append_args(reply, DBUS_TYPE_INT32, &number, DBUS_TYPE_INVALID);
    dbus_connection_send(connection, reply, NULL);
    dbus_message_unref(reply);
    return DBUS_HANDLER_RESULT_HANDLED;
}

static DBusConnection *accepted;

static void accept_connection(DBusServer *server, DBusConnection *connection, void *unused)
{
    (void)server;
    (void)unused;
    accepted = dbus_connection_ref(connection);
}

static dbus_bool_t add_watch(DBusWatch *watch, void *data)
{
    *(DBusWatch **)data = watch;
    return TRUE;
}

static void remove_watch(DBusWatch *watch, void *data)
{
    (void)watch;
    *(DBusWatch **)data = NULL;
}

static void *serve(void *server)
{
    DBusWatch *watch = NULL;
    int is_over = 0;
    dbus_server_set_new_connection_function(server, accept_connection, NULL, NULL);
    dbus_server_set_watch_functions(server, add_watch, remove_watch, NULL, &watch, NULL);
    for (int i = 0; i < 1000 && !accepted; i++) {
        usleep(1000);
        dbus_watch_handle(watch, DBUS_WATCH_READABLE);
    }
    dbus_connection_set_exit_on_disconnect(accepted, FALSE);
    dbus_connection_add_filter(accepted, answer, &is_over, NULL);
    while (!is_over && dbus_connection_read_write_dispatch(accepted, 1000)) {
    }
    dbus_connection_unref(accepted);
    return NULL;
}

static DBusMessage *shared[SHARED];

// Reads a message that the other thread holds as well; the last reference frees it, and the data in its slot.
static void *read_shared(void *unused)
{
    long sum = 0;
    for (int i = 0; i < SHARED; i++) {
        long *data = dbus_message_get_data(shared[i], slot);
        sum += *data;
        dbus_message_unref(shared[i]);
    }
    (void)unused;
    return (void *)sum;
}

int main(int argc, char **argv)
{
    DBusError error = DBUS_ERROR_INIT;
    pthread_t threads[3];
    void *sums[2];
    long replies = 0;

    dbus_threads_init_default();
    dbus_message_allocate_data_slot(&slot);
    planted_start(argc, argv, use);
    for (int i = 0; i < SHARED; i++) {
        long *data = malloc(sizeof *data);
        *data = i;
        shared[i] = dbus_message_new_signal("/a/b", "a.b", "Shared");
        dbus_message_set_data(shared[i], slot, data, free_data);
        dbus_message_ref(shared[i]);
    }
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, read_shared, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], &sums[i]);

    DBusServer *server = dbus_server_listen("unix:tmpdir=/tmp", &error);
    char *address = dbus_server_get_address(server);
    pthread_create(&threads[2], NULL, serve, server);
    DBusConnection *client = dbus_connection_open_private(address, &error);
    dbus_connection_set_exit_on_disconnect(client, FALSE);
    for (dbus_int32_t i = 0; i < CALLS; i++) {
        DBusMessage *call = dbus_message_new_method_call(NULL, "/a/b", "a.b", "Double");
        dbus_int32_t result = 0;
        dbus_message_append_args(call, DBUS_TYPE_INT32, &i, DBUS_TYPE_INVALID);
        DBusMessage *reply = dbus_connection_send_with_reply_and_block(client, call, 5000, &error);
        dbus_message_get_args(reply, NULL, DBUS_TYPE_INT32, &result, DBUS_TYPE_INVALID);
        replies += result;
        dbus_message_unref(call);
        dbus_message_unref(reply);
    }
    dbus_connection_close(client);
    dbus_connection_unref(client);
    pthread_join(threads[2], NULL);
    dbus_free(address);
    dbus_server_disconnect(server);
    dbus_server_unref(server);
    planted_end();
    printf("%ld %ld %ld\n", replies, (long)sums[0] + (long)sums[1], freed);
    return 0;
}
