// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libavcodec-dev libavutil-dev
// Flags: $(pkg-config --cflags --libs libavcodec libavutil)
// libavcodec: a video encoded by threads, and decoded by frame threads into buffers that the program makes and frees, in whatever
// thread asks for them.
#include "planted.h"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations" // thread_safe_callbacks: this version wants it
#include <libavcodec/avcodec.h>
#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
#include <stdio.h>
#include <stdlib.h>

enum { FRAMES = 12, WIDTH = 176, HEIGHT = 144 };
struct picture {
    long number;
    int is_in_use;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long made, freed;

static void use(int thread)
{
    AVBufferRef *own = av_buffer_alloc(100 + thread), *second = av_buffer_ref(own);
    av_buffer_unref(&own);
    av_buffer_unref(&second);
}

static void free_picture(void *opaque, uint8_t *data)
{
    struct picture *picture = opaque;
    int was_in_use = picture->is_in_use;
    picture->is_in_use = 0;
    pthread_mutex_lock(&lock);
    freed += was_in_use;
    pthread_mutex_unlock(&lock);
    free(picture);
    av_free(data);
}

static int get_buffer(AVCodecContext *context, AVFrame *frame, int flags)
{
    int width = frame->width, height = frame->height, align[AV_NUM_DATA_POINTERS];
    (void)flags;
    avcodec_align_dimensions2(context, &width, &height, align);
    int size = av_image_get_buffer_size(frame->format, width + 64, height + 64, 64);
    uint8_t *data = av_malloc(size + 64);
    struct picture *picture = malloc(sizeof *picture);
    picture->number = context->frame_number;
    picture->is_in_use = 1;
    pthread_mutex_lock(&lock);
    made++;
    pthread_mutex_unlock(&lock);
    frame->buf[0] = av_buffer_create(data, size, free_picture, picture, 0);
    av_image_fill_arrays(frame->data, frame->linesize, data, frame->format, width + 64, height + 64, 64);
    frame->extended_data = frame->data;
    return 0;
}

static AVCodecContext *open_codec(const AVCodec *codec, int thread_type)
{
    AVCodecContext *context = avcodec_alloc_context3(codec);
    context->width = WIDTH;
    context->height = HEIGHT;
    context->pix_fmt = AV_PIX_FMT_YUV420P;
    context->time_base = (AVRational){1, 25};
    context->gop_size = 6;
    context->thread_count = 3;
    context->thread_type = thread_type;
    context->flags |= AV_CODEC_FLAG_BITEXACT;
    if (!av_codec_is_encoder(codec)) {
        context->get_buffer2 = get_buffer;
        context->thread_safe_callbacks = 1;
    }
    if (avcodec_open2(context, codec, NULL))
        abort();
    return context;
}

static long take_frames(AVCodecContext *decoder, AVFrame *frame)
{
    long sum = 0;
    while (!avcodec_receive_frame(decoder, frame)) {
        for (int y = 0; y < frame->height; y++)
            for (int x = 0; x < frame->width; x += 16)
                sum += frame->data[0][y * frame->linesize[0] + x];
        av_frame_unref(frame);
    }
    return sum;
}

static long send_packets(AVCodecContext *encoder, AVCodecContext *decoder, AVPacket *packet, AVFrame *frame)
{
    long sum = 0;
    while (!avcodec_receive_packet(encoder, packet)) {
        avcodec_send_packet(decoder, packet);
        av_packet_unref(packet);
        sum += take_frames(decoder, frame);
    }
    return sum;
}

int main(int argc, char **argv)
{
    planted_start(argc, argv, use);
    AVCodecContext *encoder = open_codec(avcodec_find_encoder(AV_CODEC_ID_MPEG4), FF_THREAD_SLICE);
    AVCodecContext *decoder = open_codec(avcodec_find_decoder(AV_CODEC_ID_MPEG4), FF_THREAD_FRAME);
    AVFrame *in = av_frame_alloc(), *out = av_frame_alloc();
    AVPacket *packet = av_packet_alloc();
    long sum = 0;
    for (int i = 0; i < FRAMES; i++) {
        in->format = AV_PIX_FMT_YUV420P;
        in->width = WIDTH;
        in->height = HEIGHT;
        in->pts = i;
        av_frame_get_buffer(in, 0);
        for (int plane = 0; plane < 3; plane++)
            for (int y = 0; y < (plane ? HEIGHT / 2 : HEIGHT); y++)
                memset(in->data[plane] + y * in->linesize[plane], (y + i * 3) & 255,
                       plane ? WIDTH / 2 : WIDTH);
        avcodec_send_frame(encoder, in);
        av_frame_unref(in);
        sum += send_packets(encoder, decoder, packet, out);
    }
    avcodec_send_frame(encoder, NULL);
    sum += send_packets(encoder, decoder, packet, out);
    avcodec_send_packet(decoder, NULL);
    sum += take_frames(decoder, out);
    avcodec_free_context(&encoder);
    avcodec_free_context(&decoder);
    av_packet_free(&packet);
    av_frame_free(&in);
    av_frame_free(&out);
    planted_end();
    printf("%ld %d\n", sum, made == freed && made > 0);
    return 0;
}
