// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libzstd-dev
// Flags: -lzstd
// Zstandard with worker threads and a pool that two contexts share; its memory comes from the program, which keeps a header in
// each block: a worker may free a block that the caller has made.
#define ZSTD_STATIC_LINKING_ONLY
#include "planted.h"
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

enum { SIZE = 3 << 20 };
struct header {
    size_t size;
    long state;
};

static void use(int thread)
{
    char out[100];
    ZSTD_compress(out, sizeof out, &thread, sizeof thread, 1);
}

static void *get_block(void *unused, size_t size)
{
    struct header *header = malloc(sizeof *header + size);
    (void)unused;
    header->size = size;
    header->state = 1;
    return header + 1;
}

static void put_block(void *unused, void *block)
{
    struct header *header = (struct header *)block - 1;
    (void)unused;
    if (!block)
        return;
    if (header->state != 1)
        abort();
    header->state = 2;
    free(header);
}

static ZSTD_threadPool *pool;
static char *text;

static void *compress(void *unused)
{
    ZSTD_customMem memory = {get_block, put_block, NULL};
    ZSTD_CCtx *context = ZSTD_createCCtx_advanced(memory);
    size_t room = ZSTD_compressBound(SIZE), size;
    char *out = malloc(room), *back = malloc(SIZE);
    ZSTD_CCtx_refThreadPool(context, pool);
    ZSTD_CCtx_setParameter(context, ZSTD_c_nbWorkers, 2);
    ZSTD_CCtx_setParameter(context, ZSTD_c_jobSize, 1 << 20);
    ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, 1);
    size = ZSTD_compress2(context, out, room, text, SIZE);
    if (ZSTD_isError(size) || ZSTD_decompress(back, SIZE, out, size) != SIZE || memcmp(text, back, SIZE))
        size = 0;
    ZSTD_freeCCtx(context);
    free(out);
    free(back);
    (void)unused;
    return (void *)size;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    void *sizes[2];
    text = malloc(SIZE);
    for (int i = 0; i < SIZE; i += 16)
        snprintf(text + i, 16, "%15d", i / 64 * 7919);
    pool = ZSTD_createThreadPool(2);
    planted_start(argc, argv, use);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, compress, NULL);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], &sizes[i]);
    ZSTD_freeThreadPool(pool);
    planted_end();
    printf("%zu %zu\n", (size_t)sizes[0], (size_t)sizes[1]);
    return 0;
}
