// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libgnutls28-dev
// Flags: $(pkg-config --cflags --libs gnutls)
// GnuTLS: a client and a server in two threads with credentials that all sessions share, one thread that sends and one that
// receives on a session, and digests beside them. Buffers pass from a thread to another through the session alone.
#include "planted.h"
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { SESSIONS = 5, MESSAGES = 20 };
static const char priority[] = "NORMAL:-VERS-ALL:+VERS-TLS1.2:+ANON-ECDH:+ANON-DH";
static gnutls_anon_server_credentials_t server_credentials;
static gnutls_anon_client_credentials_t client_credentials;

static void use(int thread)
{
    unsigned char digest[32];
    gnutls_hash_fast(GNUTLS_DIG_SHA256, &thread, sizeof thread, digest);
}

struct end {
    gnutls_session_t session;
    long received;
    int is_server;
};

static void *receive(void *argument)
{
    struct end *end = argument;
    long *block;
    for (int i = 0; i < MESSAGES; i++) {
        if (gnutls_record_recv(end->session, &block, sizeof block) != sizeof block)
            abort();
        end->received += *block; // the peer made it, and sent its address
        free(block);
    }
    return NULL;
}

static void *talk(void *argument)
{
    struct end *end = argument;
    pthread_t receiver;
    int status;
    do
        status = gnutls_handshake(end->session);
    while (status < 0 && !gnutls_error_is_fatal(status));
    if (status < 0)
        printf("%s\n", gnutls_strerror(status));
    pthread_create(&receiver, NULL, receive, end);
    for (int i = 0; i < MESSAGES; i++) {
        long *block = malloc(sizeof *block);
        *block = i;
        gnutls_record_send(end->session, &block, sizeof block);
    }
    pthread_join(receiver, NULL);
    gnutls_deinit(end->session);
    return NULL;
}

int main(int argc, char **argv)
{
    struct end ends[SESSIONS][2];
    pthread_t threads[SESSIONS][2];
    long sum = 0;
    gnutls_anon_allocate_server_credentials(&server_credentials);
    gnutls_anon_allocate_client_credentials(&client_credentials);
    planted_start(argc, argv, use);
    for (int s = 0; s < SESSIONS; s++) {
        int sockets[2];
        socketpair(AF_UNIX, SOCK_STREAM, 0, sockets);
        for (int i = 0; i < 2; i++) {
            struct end *end = &ends[s][i];
            *end = (struct end){NULL, 0, i};
            gnutls_init(&end->session, i ? GNUTLS_SERVER : GNUTLS_CLIENT);
            gnutls_priority_set_direct(end->session, priority, NULL);
            gnutls_credentials_set(end->session, GNUTLS_CRD_ANON,
                                   i ? (void *)server_credentials : (void *)client_credentials);
            gnutls_transport_set_int(end->session, sockets[i]);
            pthread_create(&threads[s][i], NULL, talk, end);
        }
    }
    for (int s = 0; s < SESSIONS; s++)
        for (int i = 0; i < 2; i++) {
            pthread_join(threads[s][i], NULL);
            sum += ends[s][i].received;
        }
    planted_end();
    printf("%ld\n", sum);
    return 0;
}
