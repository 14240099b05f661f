// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libcairo2-dev
// Flags: $(pkg-config --cflags --libs cairo)
// Cairo: surfaces and patterns whose references are atomic, each drawn by its own thread and then handed on; the last holder
// frees the program's block that is its user data.
#include "planted.h"
#include <cairo.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 60 };
static cairo_user_data_key_t key;
static cairo_surface_t *surfaces[COUNT];
static pthread_barrier_t start;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long freed;

static void use(int thread)
{
    cairo_surface_t *own = cairo_image_surface_create(CAIRO_FORMAT_A8, 8 + thread, 8);
    cairo_surface_destroy(own);
}

static void free_block(void *data)
{
    long number = *(long *)data;
    free(data);
    pthread_mutex_lock(&lock);
    freed += number;
    pthread_mutex_unlock(&lock);
}

static void *hold(void *argument)
{
    long me = (long)argument, sum = 0;
    pthread_barrier_wait(&start);
    for (int i = 0; i < COUNT; i++) {
        cairo_surface_t *own = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, 32, 32);
        cairo_t *drawing = cairo_create(own);
        cairo_set_source_surface(drawing, surfaces[i], 0, 0);
        cairo_destroy(drawing);
        cairo_surface_destroy(own);
        if (i % 2 == me)
            *(long *)cairo_surface_get_user_data(surfaces[i], &key) += 1;
        sum += cairo_image_surface_get_width(surfaces[i]);
        cairo_surface_destroy(surfaces[i]);
    }
    return (void *)sum;
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    long sum = 0;
    pthread_barrier_init(&start, NULL, 2);
    for (int i = 0; i < COUNT; i++) {
        long *block = malloc(sizeof *block);
        *block = i;
        surfaces[i] = cairo_image_surface_create(CAIRO_FORMAT_ARGB32, 16, 16);
        cairo_surface_set_user_data(surfaces[i], &key, block, free_block);
        cairo_surface_reference(surfaces[i]);
    }
    planted_start(argc, argv, use);
    for (long i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, hold, (void *)i);
    for (int i = 0; i < 2; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (long)result;
    }
    planted_end();
    printf("%ld %ld\n", sum, freed);
    return 0;
}
