#include "lab/replay/page_classes.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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
