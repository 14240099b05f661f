// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lab/replay/read_ahead.h"

#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

// ---- classes -------------------------------------------------------------------------------------------

// Bits 63 and 62 of each record, one bit a record.
struct tops {
    struct rb_mask sign, next;
};

static void tops_plain(const uint64_t *words, uint32_t from, uint32_t count, unsigned stride, struct tops *t)
{
    for (uint32_t i = from; i < count; i++) {
        t->sign.bits[i / 64] |= (words[i * stride] >> 63) << (i % 64);
        t->next.bits[i / 64] |= (words[i * stride] >> 62 & 1) << (i % 64);
    }
}

#if defined(__x86_64__)
// 8 records a step, 8-byte records only: the high halves of eight words side by side, in order, then the
// signs of the lanes before and after a shift.
__attribute__((target("avx2"))) static void tops_avx2(const uint64_t *words, uint32_t count, struct tops *t)
{
    uint32_t i = 0;

    for (; i + 8 <= count; i += 8) {
        const __m256 a = _mm256_loadu_ps((const float *)(const void *)(words + i));
        const __m256 b = _mm256_loadu_ps((const float *)(const void *)(words + i + 4));
        const __m256i mixed = _mm256_castps_si256(_mm256_shuffle_ps(a, b, _MM_SHUFFLE(3, 1, 3, 1)));
        const __m256i high = _mm256_permute4x64_epi64(mixed, _MM_SHUFFLE(3, 1, 2, 0));
        const unsigned sign = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(high));
        const unsigned next = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(_mm256_slli_epi32(high, 1)));
        ((unsigned char *)t->sign.bits)[i / 8] = (unsigned char)sign;
        ((unsigned char *)t->next.bits)[i / 8] = (unsigned char)next;
    }
    tops_plain(words, i, count, 1, t);
}
#endif

void rb_classify(const uint64_t *words, uint32_t from, uint32_t to, bool wide, struct rb_classes *c)
{
    struct tops t = {0};

#if defined(__x86_64__)
    if (!wide && __builtin_cpu_supports("avx2"))
        tops_avx2(words, to, &t);
    else
#endif
        tops_plain(words, 0, to, wide ? 2 : 1, &t);
    for (uint32_t w = 0; w < RB_MASK_WORDS; w++) {
        const uint32_t base = w * 64;
        uint64_t range = base + 64 <= to ? ~UINT64_C(0) : base >= to ? 0 : ~(~UINT64_C(0) << (to - base));
        if (from > base)
            range &= from >= base + 64 ? 0 : ~UINT64_C(0) << (from - base);
        c->access.bits[w] = range & ~t.sign.bits[w];
        c->order.bits[w] = range & t.sign.bits[w] & ~t.next.bits[w];
        c->quiet.bits[w] = range & t.sign.bits[w] & t.next.bits[w];
    }
}

// ---- reading -------------------------------------------------------------------------------------------

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
