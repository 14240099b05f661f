#include "lab/replay/read_ahead.h"

#include <stdlib.h>
#include <string.h>

// Fills a batch from page `first` on.
static void fill_batch(const struct rb_reader *r, struct rb_ahead_batch *b, uint64_t first)
{
    const bool wide = r->layout.record_bytes == 16;

    b->first = first;
    b->error = (struct rb_error){0};
    b->status = rb_reader_pages(r, first, RB_AHEAD_PAGES, b->pages, &b->count, &b->error);
    for (uint32_t i = 0; i < b->count; i++) {
        const struct rb_page page = rb_reader_view(r, b->pages + (size_t)i * RBT_PAGE_BYTES, first + i);
        rb_classify(page.words, 0, page.count, wide, &b->classes[i]);
    }
}

static void *read_batches(void *argument)
{
    struct rb_ahead *a = argument;
    uint64_t next = 0;
    bool go = true;

    for (uint32_t turn = 0; go && next < a->reader->pages; turn ^= 1) {
        struct rb_ahead_batch *b = &a->batch[turn];
        if (!rb_handoff_await_empty(&a->handoff, turn))
            break;
        fill_batch(a->reader, b, next);
        next += b->count;
        go = b->status == 0;
        rb_handoff_filled(&a->handoff, turn);
    }
    return NULL;
}

int rb_ahead_start(struct rb_ahead *a, const struct rb_reader *r, struct rb_error *e)
{
    const size_t room = r->pages == 0 ? 1 : r->pages < RB_AHEAD_PAGES ? (size_t)r->pages : RB_AHEAD_PAGES;

    *a = (struct rb_ahead){.reader = r};
    rb_handoff_init(&a->handoff);
    for (int i = 0; i < 2; i++) {
        a->batch[i].pages = aligned_alloc(RBT_PAGE_BYTES, room * RBT_PAGE_BYTES);
        a->batch[i].classes = malloc(room * sizeof(*a->batch[i].classes));
        if (!a->batch[i].pages || !a->batch[i].classes)
            return rb_internal(e, "out of memory for reading ahead");
    }
    // Without a second thread (short trace, or none available) batches are filled on demand.
    a->threaded = r->pages > 2 * RB_AHEAD_PAGES && pthread_create(&a->thread, NULL, read_batches, a) == 0;
    return 0;
}

// Hands the batch with page `next` to the analysis; fills it first if there is no second thread.
static struct rb_ahead_batch *batch_of_next(struct rb_ahead *a)
{
    struct rb_ahead_batch *b = &a->batch[a->turn];

    if (a->has && a->next < b->first + b->count)
        return b;
    if (a->has && a->threaded) {
        rb_handoff_used(&a->handoff, a->turn);
        a->turn ^= 1;
        b = &a->batch[a->turn];
    }
    if (a->threaded)
        rb_handoff_await_full(&a->handoff, a->turn);
    else
        fill_batch(a->reader, b, a->next);
    a->has = true;
    return b;
}

int rb_ahead_next(struct rb_ahead *a, struct rb_page *page, const struct rb_classes **classes,
                  struct rb_error *e)
{
    if (a->next == a->reader->pages)
        return 1;
    const struct rb_ahead_batch *b = batch_of_next(a);
    if (b->status < 0) {
        *e = b->error;
        return b->status;
    }
    const uint64_t i = a->next - b->first;
    *page = rb_reader_view(a->reader, b->pages + i * RBT_PAGE_BYTES, a->next);
    *classes = &b->classes[i];
    a->next++;
    return 0;
}

void rb_ahead_stop(struct rb_ahead *a)
{
    if (a->threaded) {
        rb_handoff_stop(&a->handoff);
        pthread_join(a->thread, NULL);
    }
    for (int i = 0; i < 2; i++) {
        free(a->batch[i].pages);
        free(a->batch[i].classes);
    }
    rb_handoff_destroy(&a->handoff);
}
