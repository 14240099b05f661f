// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libx264-dev
// Flags: -lx264
// x264 with frame threads: its workers call the program for each part of the stream, with the block that came with the picture;
// the program frees the block when the picture is out.
#include "planted.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <x264.h>

enum { FRAMES = 12, WIDTH = 176, HEIGHT = 144 };
struct block {
    long number, bytes;
    uint8_t *encoded;
};

static long freed_messages;

static void use(int thread)
{
    x264_picture_t own;
    (void)thread;
    x264_picture_alloc(&own, X264_CSP_I420, 32, 32);
    x264_picture_clean(&own);
}

// Called by a worker; a picture in one slice has one call after the other.
static void process(x264_t *encoder, x264_nal_t *nal, void *opaque)
{
    struct block *block = opaque;
    uint8_t *encoded = malloc(nal->i_payload * 2 + 100);
    x264_nal_encode(encoder, encoded, nal);
    if (block) {
        block->bytes += nal->i_payload;
        free(block->encoded);
        block->encoded = encoded;
    } else {
        free(encoded);
    }
}

static void free_message(void *message)
{
    freed_messages += *(uint8_t *)message;
    free(message);
}

static long take(struct block *block)
{
    long sum = block->number + (block->bytes > 0) + (block->encoded != NULL);
    free(block->encoded);
    free(block);
    return sum;
}

int main(int argc, char **argv)
{
    x264_param_t param;
    x264_picture_t in, out;
    x264_nal_t *nals;
    int count;
    long sum = 0;
    planted_start(argc, argv, use);
    x264_param_default_preset(&param, "veryfast", NULL);
    param.i_threads = 3;
    param.i_width = WIDTH;
    param.i_height = HEIGHT;
    param.i_log_level = X264_LOG_NONE;
    param.i_csp = X264_CSP_I420;
    param.i_fps_num = 25;
    param.i_fps_den = 1;
    param.nalu_process = process;
    x264_t *encoder = x264_encoder_open(&param);
    for (int i = 0; i < FRAMES; i++) {
        x264_picture_alloc(&in, X264_CSP_I420, WIDTH, HEIGHT);
        for (int plane = 0; plane < 3; plane++)
            memset(in.img.plane[plane], (i * 9 + plane) & 255,
                   in.img.i_stride[plane] * (plane ? HEIGHT / 2 : HEIGHT));
        struct block *block = calloc(1, sizeof *block);
        block->number = i;
        in.opaque = block;
        in.i_pts = i;
        in.extra_sei.num_payloads = 1;
        in.extra_sei.payloads = calloc(1, sizeof(x264_sei_payload_t));
        in.extra_sei.payloads->payload_size = 20;
        in.extra_sei.payloads->payload_type = 5;
        in.extra_sei.payloads->payload = malloc(20);
        memset(in.extra_sei.payloads->payload, 1, 20);
        in.extra_sei.sei_free = free_message;
        if (x264_encoder_encode(encoder, &nals, &count, &in, &out) > 0)
            sum += take(out.opaque);
        x264_picture_clean(&in);
    }
    while (x264_encoder_delayed_frames(encoder))
        if (x264_encoder_encode(encoder, &nals, &count, NULL, &out) > 0)
            sum += take(out.opaque);
    x264_encoder_close(encoder);
    planted_end();
    printf("%ld %d\n", sum, freed_messages > 0);
    return 0;
}
