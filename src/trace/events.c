#include "trace/events.h"

#include <inttypes.h>
#include <stdlib.h>

#define MOST_EVENTS (UINT32_MAX - 16)

static int take_page(const struct rb_reader *r, const struct rb_page *page, struct rb_events *t,
                     struct rb_error *e)
{
    const bool wide = r->layout.record_bytes == 16;

    for (uint32_t k = 0; k < page->count; k++) {
        struct rb_event event = rb_unpack(&r->layout, page->words + (wide ? 2 * k : k), wide);
        if (!rb_reader_target_ok(r, &event))
            return rb_bad_input(e, "%s: event %" PRIu64 ": target %" PRIu64 " is in no table", r->path,
                                page->first + k, event.target);
        if (event.op == RB_FORK || event.op == RB_JOIN)
            event.target = rb_reader_thread(r, event.target);
        if (t->count < r->header.events)
            t->at[t->count++] = event;
    }
    return 0;
}

int rb_events_load(struct rb_reader *r, struct rb_events *t, struct rb_error *e)
{
    struct rb_page page;
    int status = 0;

    *t = (struct rb_events){0};
    if (r->header.events > MOST_EVENTS)
        return rb_bad_input(e, "%s: %" PRIu64 " events; at most %u can be taken as a whole", r->path,
                            r->header.events, MOST_EVENTS);
    for (int i = 0; i < RBT_TABLES; i++)
        t->table[i] = rb_reader_count(r, (enum rbt_table)i);
    t->at = malloc((r->header.events + 1) * sizeof(*t->at));
    if (!t->at)
        return rb_internal(e, "%s: out of memory for %" PRIu64 " events", r->path, r->header.events);
    for (uint64_t p = 0; p < r->pages && status == 0; p++) {
        status = rb_reader_page(r, p, RB_READER_PAGES - 1, &page, e);
        if (status == 0)
            status = take_page(r, &page, t, e);
    }
    if (status < 0)
        rb_events_free(t);
    return status;
}

void rb_events_free(struct rb_events *t)
{
    free(t->at);
    t->at = NULL;
    t->count = 0;
}
