// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Packages: libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev gstreamer1.0-plugins-base
// Flags: $(pkg-config --cflags --libs gstreamer-app-1.0)
// GStreamer: buffers around the program's blocks, pushed into a pipeline with a queue, probed and taken in its threads; buffers
// that two threads hold; messages on a bus.
#include "planted.h"
#include <gst/app/gstappsink.h>
#include <gst/app/gstappsrc.h>
#include <gst/gst.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 100 };
struct block {
    long number;
    unsigned char data[64];
};

static GMutex lock;
static long freed, probed, taken;

static void use(int thread)
{
    GstBuffer *own = gst_buffer_new_allocate(NULL, 16 + thread, NULL);
    gst_buffer_unref(own);
}

static void free_block(gpointer data)
{
    struct block *block = data;
    g_mutex_lock(&lock);
    freed += block->number;
    g_mutex_unlock(&lock);
    free(block);
}

static GstBuffer *make_buffer(int i)
{
    struct block *block = malloc(sizeof *block);
    block->number = i;
    memset(block->data, i, sizeof block->data);
    return gst_buffer_new_wrapped_full(0, block->data, sizeof block->data, 0, sizeof block->data, block,
                                       free_block);
}

static GstPadProbeReturn probe(GstPad *pad, GstPadProbeInfo *info, gpointer unused)
{
    GstMapInfo map;
    (void)pad;
    (void)unused;
    gst_buffer_map(GST_PAD_PROBE_INFO_BUFFER(info), &map, GST_MAP_READ);
    probed += map.data[0];
    gst_buffer_unmap(GST_PAD_PROBE_INFO_BUFFER(info), &map);
    return GST_PAD_PROBE_OK;
}

static GstFlowReturn on_sample(GstAppSink *sink, gpointer unused)
{
    GstMapInfo map;
    GstSample *sample = gst_app_sink_pull_sample(sink);
    GstBuffer *buffer = gst_sample_get_buffer(sample);
    (void)unused;
    gst_buffer_map(buffer, &map, GST_MAP_READ);
    for (gsize i = 0; i < map.size; i++)
        taken += map.data[i];
    gst_buffer_unmap(buffer, &map);
    gst_sample_unref(sample);
    return GST_FLOW_OK;
}

static gpointer hold(gpointer buffer)
{
    GstMapInfo map;
    gst_buffer_map(buffer, &map, GST_MAP_READ);
    long sum = map.data[0];
    gst_buffer_unmap(buffer, &map);
    gst_buffer_unref(buffer);
    return GINT_TO_POINTER((int)sum);
}

int main(int argc, char **argv)
{
    setenv("GST_REGISTRY_FORK", "no", 1);
    setenv("GST_REGISTRY", "gstreamer-registry", 1);
    gst_init(NULL, NULL);
    planted_start(argc, argv, use);
    GstElement *pipeline =
        gst_parse_launch("appsrc name=in ! queue name=q ! appsink name=out sync=false", NULL);
    GstElement *in = gst_bin_get_by_name(GST_BIN(pipeline), "in"),
               *out = gst_bin_get_by_name(GST_BIN(pipeline), "out");
    GstElement *queue = gst_bin_get_by_name(GST_BIN(pipeline), "q");
    GstPad *pad = gst_element_get_static_pad(queue, "sink");
    GstAppSinkCallbacks callbacks = {.new_sample = on_sample};
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, probe, NULL, NULL);
    gst_app_sink_set_callbacks(GST_APP_SINK(out), &callbacks, NULL, NULL);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    for (int i = 0; i < COUNT; i++)
        gst_app_src_push_buffer(GST_APP_SRC(in), make_buffer(i));
    gst_app_src_end_of_stream(GST_APP_SRC(in));
    GstBus *bus = gst_element_get_bus(pipeline);
    GstMessage *message =
        gst_bus_timed_pop_filtered(bus, 10 * GST_SECOND, GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
    int is_end = message && GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS;
    if (message)
        gst_message_unref(message);
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(pad);
    gst_object_unref(in);
    gst_object_unref(out);
    gst_object_unref(queue);
    gst_object_unref(bus);
    gst_object_unref(pipeline);
    long held = 0;
    for (int i = 0; i < 30; i++) {
        GstBuffer *buffer = make_buffer(i);
        GThread *holder = g_thread_new("holder", hold, gst_buffer_ref(buffer));
        held += GPOINTER_TO_INT(hold(buffer));
        held += GPOINTER_TO_INT(g_thread_join(holder));
    }
    planted_end();
    printf("%d %ld %ld %ld %ld\n", is_end, probed, taken, held, freed);
    return 0;
}
