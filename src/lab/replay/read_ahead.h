// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads pages of a trace in order. A second thread reads, checks and classifies them while the first one
// analyses. The copy out of the page cache and the checksums are a large part of a pass that samples
// little. Short traces are read without a second thread.
//
// Two batches of pages are exchanged (base/handoff.h).
#ifndef RB_LAB_REPLAY_READ_AHEAD_H
#define RB_LAB_REPLAY_READ_AHEAD_H

#include "base/handoff.h"
#include "trace/reader.h"

// ---- classes -------------------------------------------------------------------------------------------

// Sorts the records of a page into accesses, events that order threads, and others: one bit a record, from
// the records' top two bits alone.
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

// ---- reading -------------------------------------------------------------------------------------------

#define RB_AHEAD_PAGES 256u

struct rb_ahead_batch {
    unsigned char *pages;
    struct rb_classes *classes;
    uint64_t first; // page number
    uint32_t count;
    int status; // result of reading the page after the last of this batch, if not 0
    struct rb_error error;
};

struct rb_ahead {
    const struct rb_reader *reader;
    struct rb_ahead_batch batch[2];
    uint64_t next; // next page for the analysis
    uint32_t turn; // the batch with that page
    bool has;      // the analysis owns that batch
    bool threaded;
    pthread_t thread;
    struct rb_handoff handoff;
};

int rb_ahead_start(struct rb_ahead *a, const struct rb_reader *r, struct rb_error *e);
// Returns the next page and its classes; valid until the next call. The result is 1 at the end, else 0 or a
// negative errno.
int rb_ahead_next(struct rb_ahead *a, struct rb_page *page, const struct rb_classes **classes,
                  struct rb_error *e);
void rb_ahead_stop(struct rb_ahead *a);

#endif
