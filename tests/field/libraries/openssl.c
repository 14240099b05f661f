// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libssl-dev
// Flags: -lcrypto
// OpenSSL's libcrypto: counted objects that threads share and the last one frees, with the program's block in them, its locks,
// one-time calls and atomic additions.
#include "planted.h"
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 200 };
struct counted {
    int references;
    long value;
};

static CRYPTO_RWLOCK *rwlock;
static CRYPTO_ONCE once = CRYPTO_ONCE_STATIC_INIT;
static X509 *certificates[COUNT];
static struct counted *blocks[COUNT];
static int block_index;
static long once_value, under_rwlock, freed, counted_sum;
static _Thread_local long freed_here; // without a lock: that would order the threads as well
static pthread_barrier_t start;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void use(int thread)
{
    X509 *own = X509_new();
    (void)thread;
    X509_up_ref(own);
    X509_free(own);
    X509_free(own);
}

static void set_once(void)
{
    once_value = 2;
}

static void free_block(void *parent, void *data, CRYPTO_EX_DATA *all, int index, long a, void *b)
{
    long *block = data;
    (void)parent;
    (void)all;
    (void)index;
    (void)a;
    (void)b;
    if (!block)
        return;
    freed_here += *block;
    free(block);
}

static void *run(void *argument)
{
    long me = (long)argument, counted_here = 0;
    unsigned char digest[EVP_MAX_MD_SIZE];
    pthread_barrier_wait(&start);
    CRYPTO_THREAD_run_once(&once, set_once);
    for (int i = 0; i < COUNT; i++) {
        int left;
        if (i % 2 != me)
            blocks[i]->value += i;
        CRYPTO_atomic_add(&blocks[i]->references, -1, &left, NULL);
        if (!left) {
            counted_here += blocks[i]->value;
            free(blocks[i]);
        }
    }
    for (int i = 0; i < COUNT; i++) {
        if (i % 2 == me) // one of the two threads writes, the last one's free reads
            *(long *)X509_get_ex_data(certificates[i], block_index) += once_value;
        X509_free(certificates[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        CRYPTO_THREAD_write_lock(rwlock);
        under_rwlock++;
        CRYPTO_THREAD_unlock(rwlock);
        EVP_Digest(&i, sizeof i, digest, NULL, EVP_sha256(), NULL);
    }
    pthread_mutex_lock(&lock);
    freed += freed_here;
    counted_sum += counted_here;
    pthread_mutex_unlock(&lock);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    pthread_barrier_init(&start, NULL, 2);
    rwlock = CRYPTO_THREAD_lock_new();
    block_index = X509_get_ex_new_index(0, NULL, NULL, NULL, free_block);
    for (int i = 0; i < COUNT; i++) {
        long *block = malloc(sizeof *block);
        *block = i;
        certificates[i] = X509_new();
        X509_set_ex_data(certificates[i], block_index, block);
        X509_up_ref(certificates[i]);
        blocks[i] = malloc(sizeof *blocks[i]);
        *blocks[i] = (struct counted){2, 0};
    }
    planted_start(argc, argv, use);
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, run, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    planted_end();
    CRYPTO_THREAD_lock_free(rwlock);
    printf("%ld %ld %ld\n", under_rwlock, freed, counted_sum);
    return 0;
}
