// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libzmq3-dev
// Flags: -lzmq
// ZeroMQ in one process: pipelines whose messages carry pointers, messages whose block another thread frees, and a proxy.
#include "planted.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <zmq.h>

enum { COUNT = 500 };
struct item {
    long number, square;
};

static void *context;

static void *open_socket(int type, const char *end, int binds)
{
    void *socket = zmq_socket(context, type);
    int failed = binds ? zmq_bind(socket, end) : zmq_connect(socket, end);
    assert(socket && !failed);
    return socket;
}

static void use(int thread)
{
    char end[32], byte;
    snprintf(end, sizeof end, "inproc://own%d", thread);
    void *a = open_socket(ZMQ_PAIR, end, 1), *b = open_socket(ZMQ_PAIR, end, 0);
    zmq_send(a, "x", 1, 0);
    zmq_recv(b, &byte, 1, 0);
    zmq_close(a);
    zmq_close(b);
}

// Sends pointers in messages; the receiver owns what they point to.
static void *send_pointers(void *unused)
{
    void *socket = open_socket(ZMQ_PUSH, "inproc://work", 0);
    for (long i = 0; i < COUNT; i++) {
        struct item *item = malloc(sizeof *item);
        *item = (struct item){i, 0};
        zmq_send(socket, &item, sizeof item, 0);
    }
    zmq_close(socket);
    return unused;
}

static void *square(void *unused)
{
    void *in = open_socket(ZMQ_PULL, "inproc://work", 1), *out = open_socket(ZMQ_PUSH, "inproc://results", 0);
    struct item *item;
    for (int i = 0; i < COUNT; i++) {
        zmq_recv(in, &item, sizeof item, 0);
        item->square = item->number * item->number;
        zmq_send(out, &item, sizeof item, 0);
    }
    zmq_close(in);
    zmq_close(out);
    return unused;
}

static void free_block(void *data, void *hint)
{
    (void)hint;
    free(data);
}

static void *answer(void *unused)
{
    void *socket = open_socket(ZMQ_REP, "inproc://answers", 0);
    for (int i = 0; i < 100; i++) {
        zmq_msg_t message;
        zmq_msg_init(&message);
        zmq_msg_recv(&message, socket, 0);
        char *data = zmq_msg_data(&message), first = data[0];
        zmq_msg_close(&message); // frees the sender's block
        zmq_send(socket, &first, 1, 0);
    }
    zmq_close(socket);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t threads[3];
    context = zmq_ctx_new();
    planted_start(argc, argv, use);
    void *results = open_socket(ZMQ_PULL, "inproc://results", 1),
         *questions = open_socket(ZMQ_REQ, "inproc://answers", 1);
    pthread_create(&threads[0], NULL, square, NULL);
    pthread_create(&threads[1], NULL, send_pointers, NULL);
    pthread_create(&threads[2], NULL, answer, NULL);
    long sum = 0, answers = 0;
    for (int i = 0; i < COUNT; i++) {
        struct item *item;
        zmq_recv(results, &item, sizeof item, 0);
        sum += item->square;
        free(item);
    }
    for (int i = 0; i < 100; i++) {
        char *block = malloc(300), first;
        memset(block, i, 300);
        zmq_msg_t message;
        zmq_msg_init_data(&message, block, 300, free_block, NULL);
        zmq_msg_send(&message, questions, 0);
        zmq_recv(questions, &first, 1, 0);
        answers += first;
    }
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    zmq_close(results);
    zmq_close(questions);
    planted_end();
    zmq_ctx_term(context);
    printf("%ld %ld\n", sum, answers);
    return 0;
}
