// Sorts the records of a page into accesses, events that order threads, and others: one bit a record, from
// the records' top two bits alone.
#ifndef RB_LAB_REPLAY_PAGE_CLASSES_H
#define RB_LAB_REPLAY_PAGE_CLASSES_H

#include "trace/format.h"

#define RB_MASK_WORDS 8u // a page has at most 510 records

struct rb_mask {
    uint64_t bits[RB_MASK_WORDS];
};

struct rb_classes {
    struct rb_mask access, order, quiet; // order: synchronisation, fork, join; quiet: functions, marks
};

// Classifies records [from, to) of a page; the bits of other records are 0.
void rb_classify(const uint64_t *words, uint32_t from, uint32_t to, bool wide, struct rb_classes *c);

// Returns the position of the n-th set bit (from 0) of x, which has more than n. Halves the word by
// population counts, so that there is no branch to predict.
RB_INLINE unsigned rb_select64(uint64_t x, uint64_t n)
{
    unsigned at = 0;

    for (unsigned half = 32; half; half /= 2) {
        const uint64_t low = (uint64_t)__builtin_popcountll(x >> at & ((UINT64_C(1) << half) - 1));
        const uint64_t up = 0 - (uint64_t)(n >= low);
        n -= low & up;
        at += half & (unsigned)up;
    }
    return at;
}

#endif
