// Reads pages of a trace in order. A second thread reads, checks and classifies them while the first one
// analyses. Short traces are read without a second thread.
//
// Two batches of pages are exchanged (base/handoff.h).
#ifndef RB_LAB_REPLAY_READ_AHEAD_H
#define RB_LAB_REPLAY_READ_AHEAD_H

#include "base/handoff.h"
#include "lab/replay/page_classes.h"
#include "trace/reader.h"

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
