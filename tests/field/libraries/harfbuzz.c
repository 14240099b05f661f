// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libharfbuzz-dev fonts-dejavu-core
// Flags: $(pkg-config --cflags --libs harfbuzz)
// HarfBuzz: blobs and faces that threads share and the last one frees by the program's function, user data, and callbacks of
// fonts that are made immutable before they are shared.
#include "planted.h"
#include <hb.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 100, THREADS = 3 };
struct block {
    long number;
    char data[32];
};

static hb_blob_t *blobs[COUNT];
static hb_face_t *face;
static hb_font_t *font;
static hb_user_data_key_t key;
static pthread_barrier_t start;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long freed;

static void use(int thread)
{
    hb_buffer_t *own = hb_buffer_create();
    hb_buffer_add(own, 'a' + thread, 0);
    hb_buffer_destroy(own);
}

static void free_block(void *data)
{
    struct block *block = data;
    long number = block->number;
    free(block);
    pthread_mutex_lock(&lock);
    freed += number;
    pthread_mutex_unlock(&lock);
}

static void *shape(void *argument)
{
    long me = (long)argument, sum = 0;
    pthread_barrier_wait(&start);
    for (int i = 0; i < COUNT; i++) {
        unsigned size;
        sum += hb_blob_get_data(blobs[i], &size)[0];
        if (i % THREADS == me) // the last holder reads it
            ((struct block *)hb_blob_get_user_data(blobs[i], &key))->number += 1;
        hb_blob_destroy(blobs[i]);
        if (i % 10 == 0) {
            hb_buffer_t *buffer = hb_buffer_create();
            hb_buffer_add_utf8(buffer, "some text", -1, 0, -1);
            hb_buffer_guess_segment_properties(buffer);
            hb_shape(font, buffer, NULL, 0);
            sum += hb_buffer_get_length(buffer);
            hb_buffer_destroy(buffer);
        }
    }
    return (void *)sum;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    long sum = 0;
    pthread_barrier_init(&start, NULL, THREADS);
    hb_blob_t *file = hb_blob_create_from_file("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf");
    face = hb_face_create(file, 0);
    font = hb_font_create(face);
    hb_font_make_immutable(font);
    hb_face_make_immutable(face);
    for (int i = 0; i < COUNT; i++) {
        struct block *block = malloc(sizeof *block), *user = malloc(sizeof *user);
        block->number = user->number = i;
        memset(block->data, 1, sizeof block->data);
        blobs[i] =
            hb_blob_create(block->data, sizeof block->data, HB_MEMORY_MODE_READONLY, block, free_block);
        hb_blob_set_user_data(blobs[i], &key, user, free_block, 1);
        for (int t = 1; t < THREADS; t++)
            hb_blob_reference(blobs[i]);
    }
    planted_start(argc, argv, use);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, shape, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (long)result;
    }
    planted_end();
    hb_font_destroy(font);
    hb_face_destroy(face);
    hb_blob_destroy(file);
    printf("%ld %ld\n", sum, freed);
    return 0;
}
