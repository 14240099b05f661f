// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The order of the merged trace. The events of each thread keep its order, and those of each counter the
// order of their numbers. A thread begins after its fork, and a join comes after the last event of the
// joined thread. An event is ready when it is the next of its thread and all these rules hold. Among ready
// events the one with the lowest (generation, clock) goes first, so that the trace resembles the execution.
// The rules alone guarantee that the order is possible.
//
// The first pass collects the numbers in use, so that a number that was taken but not written blocks no
// thread.
#include "lab/record/merge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/rng.h"
#include "lab/record/merge_out.h"

#define NONE            UINT32_MAX
#define NUMBERS_AHEAD   (UINT64_C(1) << 20) // most that a number may exceed the events: more is damage
#define PROGRESS_EVENTS (1u << 16)

struct counter {
    uint64_t *seen; // bit n: number n was written
    uint64_t words;
    uint64_t next; // number of the next event
};

// A thread, by its index in rb_out.
struct line {
    struct rb_raw_cursor *cursor; // NULL before the thread starts and after its end
    struct rb_raw_event event;    // the next event
    struct rb_raw_event access;   // the atomic access that comes with it, if `with_access`
    struct rb_raw_event ahead;    // the event behind it, if `has_ahead`
    bool with_access, has_ahead;
    bool forked, ended; // known from the first pass
    bool done;
    uint32_t waiting; // next in a list of lines that wait for the same event
    uint32_t joiners; // lines that wait for its end
};

struct merge {
    const struct rb_raw *raw;
    struct rb_merge_notes *notes;
    struct rb_error *error;
    struct rb_out out;
    struct line *line;
    uint32_t lines;
    struct counter counter[RB_RAW_COUNTERS];
    uint32_t *heap; // ready lines, lowest first
    uint32_t ready;
    uint32_t *turn; // lines that wait for their number, hashed
    uint32_t turns; // a power of two
    uint64_t events, done;
    rb_progress_fn progress;
    void *context;
};

static int no_memory(struct merge *m)
{
    return rb_internal(m->error, "%s: out of memory", m->raw->path);
}

// ---- first pass ----------------------------------------------------------------------------------------

// Notes a number of the first pass. Bits are set once: a number that comes twice, or is far beyond the
// number of events, is damage.
static int note_number(struct merge *m, const struct rb_raw_event *event)
{
    struct counter *c = &m->counter[rb_raw_counter_of(event->op, event->address)];
    const uint64_t word = event->value / 64, bit = UINT64_C(1) << (event->value % 64);

    if (event->value > m->raw->records + NUMBERS_AHEAD)
        return rb_bad_input(m->error,
                            "%s: record at offset 0x%" PRIx64 ": number %" PRIu64
                            ", more than there are records",
                            m->raw->path, event->at, event->value);
    if (word >= c->words) {
        uint64_t words = c->words ? c->words : 64;
        while (words <= word)
            words *= 2;
        uint64_t *bigger = realloc(c->seen, words * sizeof(*bigger));
        if (!bigger)
            return no_memory(m);
        memset(bigger + c->words, 0, (words - c->words) * sizeof(*bigger));
        c->seen = bigger;
        c->words = words;
    }
    if (c->seen[word] & bit)
        return rb_bad_input(m->error,
                            "%s: record at offset 0x%" PRIx64 ": number %" PRIu64
                            " was given to another event already",
                            m->raw->path, event->at, event->value);
    c->seen[word] |= bit;
    return 0;
}

static bool more_lines(struct merge *m)
{
    if (m->lines >= m->out.threads)
        return true;
    uint32_t room = m->lines ? m->lines : 64;
    while (room < m->out.threads)
        room *= 2;
    struct line *bigger = realloc(m->line, (size_t)room * sizeof(*bigger));
    if (!bigger)
        return false;
    m->line = bigger;
    for (; m->lines < room; m->lines++)
        m->line[m->lines] = (struct line){.waiting = NONE, .joiners = NONE};
    return true;
}

static int note_event(struct merge *m, uint32_t thread, const struct rb_raw_event *event)
{
    if (rb_raw_is_access(event->op)) {
        const bool atomic = event->op >= RB_RAW_ATOMIC_READ;
        return rb_memory_note(&m->out.memory, event->address, event->size, thread, atomic) ? 0 : no_memory(m);
    }
    if (rb_raw_is_numbered(event->op))
        return note_number(m, event);
    if (event->op == RB_RAW_END)
        m->line[thread].ended = true;
    if (event->op == RB_FORK || event->op == RB_JOIN) {
        const uint32_t other = rb_out_thread(&m->out, (uint32_t)event->address);
        if (other == NONE || !more_lines(m))
            return no_memory(m);
        m->line[other].forked |= event->op == RB_FORK;
    }
    return 0;
}

static uint64_t next_number(const struct counter *c, uint64_t from)
{
    uint64_t w = from / 64, bits = w < c->words ? c->seen[w] >> (from % 64) << (from % 64) : 0;

    while (!bits && ++w < c->words)
        bits = c->seen[w];
    return bits ? w * 64 + (uint64_t)__builtin_ctzll(bits) : UINT64_MAX;
}

static uint64_t count_holes(const struct counter *c)
{
    uint64_t count = 0, end = 0;

    for (uint64_t w = 0; w < c->words; w++)
        if (c->seen[w]) {
            count += (uint64_t)__builtin_popcountll(c->seen[w]);
            end = w * 64 + 64 - (uint64_t)__builtin_clzll(c->seen[w]);
        }
    return end - count;
}

static int first_pass(struct merge *m)
{
    const struct rb_raw *raw = m->raw;
    struct rb_raw_cursor cursor;
    struct rb_raw_event event;
    int status = 0;

    // In the same order, so that both tables have the same index for a thread.
    for (uint32_t t = 0; t < raw->threads; t++)
        if (rb_out_thread(&m->out, raw->thread[t].id) != t || !more_lines(m))
            return no_memory(m);
    for (uint32_t t = 0; t < raw->threads && status == 0; t++) {
        rb_raw_start(raw, t, &cursor);
        while ((status = rb_raw_next(raw, &cursor, &event, m->error)) > 0) {
            status = note_event(m, t, &event);
            if (status < 0)
                break;
            if (m->progress && ++m->events % PROGRESS_EVENTS == 0)
                m->progress(m->context, m->events / 3, raw->records);
        }
        m->notes->running += !m->line[t].ended && raw->thread[t].os_id;
    }
    if (status < 0)
        return status;
    for (uint32_t c = 0; c < RB_RAW_COUNTERS; c++) {
        m->counter[c].next = next_number(&m->counter[c], 0);
        m->notes->holes += count_holes(&m->counter[c]);
    }
    return rb_memory_settle(&m->out.memory) ? 0 : no_memory(m);
}

// ---- second pass ---------------------------------------------------------------------------------------

static bool goes_before(const struct merge *m, uint32_t a, uint32_t b)
{
    const struct rb_raw_event *x = &m->line[a].event, *y = &m->line[b].event;

    if (x->generation != y->generation)
        return x->generation < y->generation;
    return x->clock != y->clock ? x->clock < y->clock : a < b;
}

static void push_ready(struct merge *m, uint32_t t)
{
    uint32_t i = m->ready++;

    for (; i > 0 && goes_before(m, t, m->heap[(i - 1) / 2]); i = (i - 1) / 2)
        m->heap[i] = m->heap[(i - 1) / 2];
    m->heap[i] = t;
}

static uint32_t pop_ready(struct merge *m)
{
    const uint32_t top = m->heap[0], last = m->heap[--m->ready];
    uint32_t i = 0, child;

    while ((child = 2 * i + 1) < m->ready) {
        if (child + 1 < m->ready && goes_before(m, m->heap[child + 1], m->heap[child]))
            child++;
        if (!goes_before(m, m->heap[child], last))
            break;
        m->heap[i] = m->heap[child];
        i = child;
    }
    m->heap[i] = last;
    return top;
}

static uint32_t *turn_of(struct merge *m, uint32_t counter, uint64_t number)
{
    return &m->turn[rb_mix64(number * RB_RAW_COUNTERS + counter) & (m->turns - 1)];
}

static bool is_ready(struct merge *m, uint32_t t)
{
    const struct rb_raw_event *e = &m->line[t].event;

    if (rb_raw_is_numbered(e->op))
        return m->counter[rb_raw_counter_of(e->op, e->address)].next == e->value;
    if (e->op == RB_JOIN)
        return m->line[rb_out_thread(&m->out, (uint32_t)e->address)].done;
    return true;
}

// Puts a line into the heap, or into the list that it waits in.
static void file_line(struct merge *m, uint32_t t)
{
    struct line *l = &m->line[t];

    if (is_ready(m, t)) {
        push_ready(m, t);
        return;
    }
    uint32_t *list = l->event.op == RB_JOIN
                         ? &m->line[rb_out_thread(&m->out, (uint32_t)l->event.address)].joiners
                         : turn_of(m, rb_raw_counter_of(l->event.op, l->event.address), l->event.value);
    l->waiting = *list;
    *list = t;
}

// Returns true if the event belongs to the access. An acquiring atomic operation is recorded behind the
// access it orders; here they are one event.
static bool belongs_to(const struct rb_raw_event *access, const struct rb_raw_event *event)
{
    return (event->op == RB_LOAD || event->op == RB_RMW) && event->address == access->address;
}

// Loads the next event of a thread. Returns 1, 0 at its end, or a negative errno.
static int load_event(struct merge *m, struct line *l)
{
    int status = 1;

    l->with_access = false;
    if (l->has_ahead)
        l->event = l->ahead;
    else
        status = rb_raw_next(m->raw, l->cursor, &l->event, m->error);
    l->has_ahead = false;
    if (status <= 0 || l->event.op < RB_RAW_ATOMIC_READ || l->event.op > RB_RAW_ATOMIC_WRITE)
        return status;
    status = rb_raw_next(m->raw, l->cursor, &l->ahead, m->error);
    if (status == 0) { // perhaps cut off between the access and the operation that orders it
        m->notes->tail++;
        m->done++;
    }
    if (status <= 0)
        return status;
    if (belongs_to(&l->event, &l->ahead)) {
        l->access = l->event;
        l->event = l->ahead;
        l->with_access = true;
    } else {
        l->has_ahead = true;
    }
    return 1;
}

// Loads the next event and files it, or ends the thread and releases its joiners.
static int go_on(struct merge *m, uint32_t t)
{
    struct line *l = &m->line[t];
    const int status = l->cursor ? load_event(m, l) : 0;

    if (status < 0)
        return status;
    if (status > 0) {
        file_line(m, t);
        return 0;
    }
    free(l->cursor);
    l->cursor = NULL;
    l->done = true;
    rb_out_thread_done(&m->out, t);
    while (l->joiners != NONE) {
        const uint32_t joiner = l->joiners;
        l->joiners = m->line[joiner].waiting;
        push_ready(m, joiner);
    }
    return 0;
}

static int start_thread(struct merge *m, uint32_t t)
{
    struct line *l = &m->line[t];

    if (l->cursor || l->done)
        return 0;
    if (t < m->raw->threads) {
        l->cursor = malloc(sizeof(*l->cursor));
        if (!l->cursor)
            return no_memory(m);
        rb_raw_start(m->raw, t, l->cursor);
    }
    return go_on(m, t);
}

// Advances a counter after number `done`. The line with the next number becomes ready, if it is there
// already.
static void next_turn(struct merge *m, uint32_t counter, uint64_t done)
{
    struct counter *c = &m->counter[counter];

    c->next = next_number(c, done + 1);
    for (uint32_t *link = turn_of(m, counter, c->next); *link != NONE; link = &m->line[*link].waiting) {
        const uint32_t t = *link;
        const struct rb_raw_event *e = &m->line[t].event;
        if (e->value == c->next && rb_raw_counter_of(e->op, e->address) == counter) {
            *link = m->line[t].waiting;
            push_ready(m, t);
            return;
        }
    }
}

static int emit_event(struct merge *m, uint32_t t)
{
    const struct line *l = &m->line[t];
    const struct rb_raw_event event = l->event;
    int status;

    rb_out_event(&m->out, t, &event, l->with_access ? &l->access : NULL);
    m->done += 1 + l->with_access;
    if (rb_raw_is_numbered(event.op))
        next_turn(m, rb_raw_counter_of(event.op, event.address), event.value);
    status = go_on(m, t);
    if (status == 0 && event.op == RB_FORK)
        status = start_thread(m, rb_out_thread(&m->out, (uint32_t)event.address));
    return status;
}

static int second_pass(struct merge *m)
{
    int status = 0;

    for (uint32_t t = 0; t < m->out.threads && status == 0; t++)
        if (!m->line[t].forked)
            status = start_thread(m, t);
    while (m->ready > 0 && status == 0) {
        status = emit_event(m, pop_ready(m));
        if (m->error->fault != RB_FAULT_NONE)
            return -EINVAL;
        if (m->progress && m->done % PROGRESS_EVENTS == 0)
            m->progress(m->context, m->events / 3 + m->done / 3 * 2, m->raw->records);
    }
    for (uint32_t t = 0; t < m->raw->threads && status == 0; t++)
        if (!m->line[t].done)
            status = rb_bad_input(m->error,
                                  "%s: the record of thread %" PRIu32 " at offset 0x%" PRIx64
                                  " waits for an event that comes after it: the recording is damaged",
                                  m->raw->path, m->raw->thread[t].id,
                                  m->line[t].cursor ? m->line[t].event.at
                                                    : m->raw->span[m->raw->thread[t].first].at);
    return status;
}

static int set_up(struct merge *m)
{
    m->turns = 64;
    while (m->turns < m->out.threads)
        m->turns *= 2;
    m->turn = malloc(m->turns * sizeof(*m->turn));
    m->heap = malloc(((size_t)m->out.threads + 1) * sizeof(*m->heap));
    if (!m->turn || !m->heap)
        return no_memory(m);
    for (uint32_t i = 0; i < m->turns; i++)
        m->turn[i] = NONE;
    return 0;
}

int rb_merge(const struct rb_raw *raw, const char *path, const struct rb_merge_names *names,
             struct rb_merge_notes *notes, rb_progress_fn progress, void *context, struct rb_error *e)
{
    struct merge m = {.raw = raw, .notes = notes, .error = e, .progress = progress, .context = context};
    int status;

    *notes = (struct rb_merge_notes){0};
    status = rb_out_open(&m.out, raw, path, names, notes, e);
    if (status == 0)
        status = first_pass(&m);
    if (status == 0)
        status = set_up(&m);
    if (status == 0)
        status = second_pass(&m);
    if (status == 0)
        status = rb_out_finish(&m.out);
    rb_out_close(&m.out);
    for (uint32_t t = 0; t < m.lines; t++)
        free(m.line[t].cursor);
    free(m.line);
    for (uint32_t c = 0; c < RB_RAW_COUNTERS; c++)
        free(m.counter[c].seen);
    free(m.turn);
    free(m.heap);
    return status;
}
