// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The merge of raw recordings: a program is played, with threads that take turns, into a recording as the
// runtime writes it; its clocks may be right, coarse or nonsense. The merged trace must have the same
// happens-before, by the oracle, and be well-formed. Then what is odd: events that are missing, locks that do
// not match, damage.
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "engine/oracle.h"
#include "lab/record/merge.h"
#include "lab/replay/replay.h"
#include "trace/reader.h"

#define THREADS 6u
#define RECORDS 4000u
#define LOCK(n) (UINT64_C(0x5000) + 64 * (uint64_t)(n))
#define WORD(n) (UINT64_C(0x9000) + 8 * (uint64_t)(n))
#define PLACE   (UINT64_C(1) << RB_RAW_OFFSET_BITS)

// ---- a recording by hand -------------------------------------------------------------------------------

struct draft {
    struct {
        uint64_t word[2 * RECORDS];
        uint32_t records, generation;
        uint64_t clock;
    } thread[THREADS];
    uint64_t next[RB_RAW_COUNTERS];
    uint64_t clock;
    uint32_t state;
    struct rb_rng *wild; // clocks are drawn from it, if there
};

static void put(struct draft *d, uint32_t t, uint64_t word0, uint64_t word1)
{
    const uint32_t n = d->thread[t].records++;

    assert_true(n < RECORDS);
    d->thread[t].word[2 * n] = word0;
    d->thread[t].word[2 * n + 1] = word1;
}

// A thread's clock goes forward; nothing else is promised of it.
static uint64_t tick(struct draft *d, uint32_t t)
{
    uint64_t now = d->wild ? d->thread[t].clock + rb_rng_below(d->wild, 3000) : ++d->clock;

    if (d->thread[t].records == 0 || now >> 16 != d->thread[t].clock >> 16)
        put(d, t, rb_raw_word0(RB_RAW_TICK, 0, 0), rb_raw_word1(0, now >> 16));
    return d->thread[t].clock = now;
}

static void event(struct draft *d, uint32_t t, unsigned op, uint64_t address, uint64_t size)
{
    const uint64_t clock = tick(d, t);
    const uint64_t number = rb_raw_is_numbered(op) ? d->next[rb_raw_counter_of(op, address)]++ : PLACE + 16;

    put(d, t, rb_raw_word0(op, size < RB_RAW_SIZES ? size : 0, address), rb_raw_word1(clock, number));
    if (size >= RB_RAW_SIZES)
        put(d, t, rb_raw_word0(RB_RAW_EXTENT, 0, 0), rb_raw_word1(clock, size));
}

static void generation(struct draft *d, uint32_t t, uint32_t value)
{
    tick(d, t);
    put(d, t, rb_raw_word0(RB_RAW_GENERATION, 0, 0), rb_raw_word1(0, value));
}

// An event whose number was taken, and no more.
static void lost(struct draft *d, unsigned op, uint64_t address)
{
    d->next[rb_raw_counter_of(op, address)]++;
}

static void write_all(int fd, const void *data, size_t bytes, uint64_t at)
{
    assert_int_equal(pwrite(fd, data, bytes, (off_t)at), (ssize_t)bytes);
}

// Chunks of one unit each, threads in turn, with an unused unit here and there.
static int write_draft(const struct draft *d)
{
    const struct rb_raw_header header = {.magic = RB_RAW_MAGIC,
                                         .version = RB_RAW_VERSION,
                                         .pid = 1,
                                         .state = d->state};
    struct rb_raw_module module = {
        .index = 1, .bias = 0, .from = 0x1000, .to = 0x2000, .path = "/bin/program"};
    struct rb_raw_chunk chunk = {RB_RAW_CHUNK_MAGIC, RB_RAW_UNIT, RB_RAW_MODULE, 0, 0, 1, 0, {0}};
    const uint32_t room = (RB_RAW_UNIT - sizeof(chunk)) / 16;
    const int fd = memfd_create("raw", MFD_CLOEXEC);
    uint64_t at = RB_RAW_UNIT;

    assert_true(fd >= 0);
    write_all(fd, &header, sizeof(header), 0);
    write_all(fd, &chunk, sizeof(chunk), at);
    write_all(fd, &module, sizeof(module), at + sizeof(chunk));
    at += 2 * RB_RAW_UNIT;
    for (uint32_t round = 0, more = 1; more; round++) {
        more = 0;
        for (uint32_t t = 0; t < THREADS; t++) {
            const uint32_t done = round * room, left = d->thread[t].records;
            if (left <= done)
                continue;
            chunk = (struct rb_raw_chunk){RB_RAW_CHUNK_MAGIC,
                                          RB_RAW_UNIT,
                                          RB_RAW_EVENTS,
                                          t,
                                          round,
                                          left - done < room ? left - done : room,
                                          t + 100,
                                          {0}};
            // A TICK comes first in each chunk of the runtime's; here the reader must do with the last one.
            write_all(fd, &chunk, sizeof(chunk), at);
            write_all(fd, d->thread[t].word + 2 * done, 16 * (size_t)chunk.used, at + sizeof(chunk));
            at += RB_RAW_UNIT;
            more = 1;
        }
    }
    assert_int_equal(ftruncate(fd, (off_t)(at + RB_RAW_UNIT)), 0);
    return fd;
}

// ---- the trace of it -----------------------------------------------------------------------------------

struct merged {
    char path[64];
    struct rb_merge_notes notes;
    struct rb_reader reader;
    struct rb_event *event;
};

static int merge_fd(int raw_fd, struct merged *m, struct rb_error *e)
{
    struct rb_raw raw;
    char raw_path[64];
    int status;

    snprintf(raw_path, sizeof(raw_path), "/proc/self/fd/%d", raw_fd);
    snprintf(m->path, sizeof(m->path), "/tmp/test_merge.%d.rbt", (int)getpid());
    status = rb_raw_open(&raw, raw_path, e);
    if (status == 0)
        status = rb_merge(&raw, m->path, NULL, &m->notes, NULL, NULL, e);
    if (raw.fd >= 0)
        rb_raw_close(&raw);
    return status;
}

static void merge(const struct draft *d, struct merged *m)
{
    struct rb_check_notes notes;
    struct rb_error e = {0};
    const int fd = write_draft(d);

    if (merge_fd(fd, m, &e) < 0 || rb_reader_open(&m->reader, m->path, &e) < 0 ||
        rb_check(&m->reader, false, &notes, NULL, NULL, &e) < 0)
        fail_msg("%s", e.text);
    close(fd);
    unlink(m->path);
    m->event = calloc(m->reader.header.events + 1, sizeof(*m->event));
    for (uint64_t i = 0; i < m->reader.header.events; i++)
        assert_int_equal(rb_reader_event(&m->reader, i, &m->event[i], &e), 0);
    assert_int_equal(m->notes.events, m->reader.header.events);
}

static void merged_free(struct merged *m)
{
    rb_reader_close(&m->reader);
    free(m->event);
}

static uint64_t races_in(struct merged *m)
{
    struct rb_replay_options options = {.engine = rb_engine_find("so")};
    struct rb_result result;
    struct rb_error e = {0};

    assert_int_equal(rb_sampler_parse("all", &options.sampler, &e), 0);
    assert_int_equal(rb_replay(&m->reader, &options, &result, &e), 0);
    const uint64_t warnings = result.warnings;
    rb_result_free(&result);
    return warnings;
}

// The thread's name in the trace is T and its number in the recording.
static uint32_t recorded_thread(struct merged *m, uint32_t thread)
{
    char scratch[32];

    return (uint32_t)atoi(rb_reader_name(&m->reader, RBT_THREADS, thread, scratch) + 1);
}

// ---- a program at random -------------------------------------------------------------------------------

struct player {
    bool alive, ended, joined;
    int holds; // a lock, to write; -1: none
    int reads; // a read-write lock; -1: none
};

struct play {
    struct draft draft;
    struct rb_event event[RECORDS]; // as it happened, targets as addresses
    uint32_t count;
    struct player player[THREADS];
    int holder[4], readers[4];
    struct rb_rng rng;
};

static void happens(struct play *p, uint32_t t, enum rb_op op, uint64_t target)
{
    assert_true(p->count < RECORDS);
    p->event[p->count++] = (struct rb_event){.op = op, .thread = t, .target = target};
    event(&p->draft, t, op, target, op <= RB_WRITE ? 8 : 0);
}

static void lock_step(struct play *p, uint32_t t)
{
    struct player *me = &p->player[t];
    const int lock = (int)rb_rng_below(&p->rng, 4);

    if (me->holds >= 0) {
        happens(p, t, RB_RELEASE, LOCK(me->holds));
        p->holder[me->holds] = -1;
        me->holds = -1;
    } else if (me->reads >= 0) {
        happens(p, t, RB_RD_REL, LOCK(me->reads));
        p->readers[me->reads]--;
        me->reads = -1;
    } else if (p->holder[lock] < 0 && rb_rng_below(&p->rng, 3) == 0) {
        happens(p, t, RB_RD_ACQ, LOCK(lock));
        p->readers[lock]++;
        me->reads = lock;
    } else if (p->holder[lock] < 0 && p->readers[lock] == 0) {
        happens(p, t, RB_ACQUIRE, LOCK(lock));
        p->holder[lock] = (int)t;
        me->holds = lock;
    }
}

static void thread_step(struct play *p, uint32_t t)
{
    const uint32_t other = 1 + (uint32_t)rb_rng_below(&p->rng, THREADS - 1);
    struct player *o = &p->player[other], *me = &p->player[t];

    if (!o->alive && !o->ended) {
        happens(p, t, RB_FORK, other);
        o->alive = true;
    } else if (o->ended && !o->joined) {
        happens(p, t, RB_JOIN, other);
        o->joined = true;
    } else if (t != 0 && me->holds < 0 && me->reads < 0 && rb_rng_below(&p->rng, 4) == 0) {
        event(&p->draft, t, RB_RAW_END, 0, 0);
        me->alive = false;
        me->ended = true;
    }
}

static void play_step(struct play *p)
{
    static const enum rb_op atomic[] = {RB_LOAD, RB_STORE, RB_RMW, RB_RMW_REL, RB_POST, RB_WAIT};
    const uint32_t t = (uint32_t)rb_rng_below(&p->rng, THREADS);
    const uint64_t what = rb_rng_below(&p->rng, 20);

    if (!p->player[t].alive)
        return;
    if (what < 10)
        happens(p, t, what < 6 ? RB_READ : RB_WRITE, WORD(rb_rng_below(&p->rng, 5)));
    else if (what < 15)
        lock_step(p, t);
    else if (what < 18)
        happens(p, t, atomic[rb_rng_below(&p->rng, RB_LENGTH(atomic))], LOCK(10 + rb_rng_below(&p->rng, 3)));
    else
        thread_step(p, t);
}

static void play(struct play *p, uint64_t seed, bool wild)
{
    *p = (struct play){0};
    rb_rng_seed(&p->rng, seed);
    p->draft.wild = wild ? &p->rng : NULL;
    p->draft.state = RB_RAW_ENDED;
    for (uint32_t t = 0; t < THREADS; t++)
        p->player[t] = (struct player){.alive = t == 0, .holds = -1, .reads = -1};
    for (int l = 0; l < 4; l++)
        p->holder[l] = -1;
    for (uint64_t steps = 20 + rb_rng_below(&p->rng, 400); steps > 0; steps--)
        play_step(p);
}

// Event k of a thread there is event k of the same thread here: where the merged trace has each.
static void match(const struct play *p, struct merged *m, uint32_t *where)
{
    uint32_t next[THREADS] = {0};

    assert_int_equal(m->reader.header.events, p->count);
    for (uint32_t i = 0; i < p->count; i++) {
        uint32_t *k = &next[p->event[i].thread];
        while (*k < p->count && recorded_thread(m, m->event[*k].thread) != p->event[i].thread)
            ++*k;
        assert_true(*k < p->count);
        assert_int_equal(m->event[*k].op, p->event[i].op);
        where[i] = (*k)++;
    }
}

static void same_happens_before(bool wild)
{
    static struct play p;
    static uint32_t where[RECORDS];
    struct oracle here, there;
    struct merged m;

    for (uint64_t seed = 1; seed <= 150; seed++) {
        play(&p, seed, wild);
        if (p.count == 0)
            continue;
        merge(&p.draft, &m);
        match(&p, &m, where);
        oracle_build(&here, p.event, p.count);
        oracle_build(&there, m.event, p.count);
        for (uint32_t j = 0; j < p.count; j++)
            for (uint32_t i = 0; i < p.count; i++)
                if (oracle_ordered(&here, i, j) != oracle_ordered(&there, where[i], where[j]))
                    fail_msg("seed %d: events %u and %u", (int)seed, i, j);
        // With true clocks it is the very order in which things happened.
        for (uint32_t i = 0; !wild && i < p.count; i++)
            assert_int_equal(where[i], i);
        assert_int_equal(m.notes.holes + m.notes.unmatched + m.notes.overlapping + m.notes.tail, 0);
        oracle_free(&here);
        oracle_free(&there);
        merged_free(&m);
    }
}

static void keeps_the_order_of_true_clocks(void **state)
{
    (void)state;
    same_happens_before(false);
}

static void keeps_happens_before_whatever_the_clocks(void **state)
{
    (void)state;
    same_happens_before(true);
}

// ---- what is odd ---------------------------------------------------------------------------------------

static struct draft d;

static void gets_over_holes(void **state)
{
    struct merged m;

    (void)state;
    d = (struct draft){0};
    lost(&d, RB_ACQUIRE, LOCK(0));
    event(&d, 0, RB_FORK, 1, 0);
    event(&d, 0, RB_ACQUIRE, LOCK(0), 0);
    event(&d, 0, RB_WRITE, WORD(0), 8);
    event(&d, 0, RB_RELEASE, LOCK(0), 0);
    lost(&d, RB_ACQUIRE, LOCK(0));
    lost(&d, RB_RAW_FORGET, WORD(0));
    event(&d, 1, RB_ACQUIRE, LOCK(0), 0);
    event(&d, 1, RB_WRITE, WORD(0), 8);
    event(&d, 1, RB_RAW_FORGET, WORD(1), 8);
    merge(&d, &m);
    assert_int_equal(m.notes.holes, 3);
    assert_int_equal(m.notes.running, 2);
    assert_int_equal(m.reader.header.events, 6);
    assert_int_equal(races_in(&m), 0);
    merged_free(&m);
}

static void locks_that_do_not_match_are_made_to(void **state)
{
    struct merged m;

    (void)state;
    d = (struct draft){0};
    event(&d, 0, RB_RELEASE, LOCK(0), 0); // was taken before the recording began
    event(&d, 0, RB_RD_REL, LOCK(1), 0);
    event(&d, 0, RB_FORK, 1, 0);
    event(&d, 0, RB_ACQUIRE, LOCK(2), 0);
    event(&d, 1, RB_ACQUIRE, LOCK(2), 0); // its owner ended with it
    event(&d, 1, RB_RELEASE, LOCK(2), 0);
    event(&d, 1, RB_RD_ACQ, LOCK(3), 0);
    event(&d, 1, RB_RD_REL, LOCK(3), 0);
    event(&d, 1, RB_ACQUIRE, LOCK(3), 0);
    event(&d, 0, RB_ACQUIRE, LOCK(3), 0); // the same with readers
    event(&d, 0, RB_RELEASE, LOCK(3), 0);
    merge(&d, &m); // checks
    assert_int_equal(m.notes.unmatched, 3);
    assert_int_equal(m.notes.overlapping, 2);
    assert_int_equal(m.event[0].op, RB_POST);
    assert_int_equal(m.event[4].op, RB_WAIT);
    assert_int_equal(m.event[5].op, RB_POST);
    assert_int_equal(m.reader.header.events, 12); // one more: the release of LOCK(3) that nobody made
    merged_free(&m);
}

// Object and memory begin anew: what was released to the one is not acquired from the other.
static void lives_end(void **state)
{
    for (int gone = 0; gone < 2; gone++) {
        struct merged m;

        (void)state;
        d = (struct draft){0};
        event(&d, 0, RB_FORK, 1, 0);
        event(&d, 0, RB_WRITE, WORD(0), 8);
        event(&d, 0, RB_STORE, LOCK(0), 0);
        if (gone)
            event(&d, 0, RB_RAW_GONE, LOCK(0), 0);
        event(&d, 1, RB_LOAD, LOCK(0), 0);
        event(&d, 1, RB_WRITE, WORD(0), 8);
        merge(&d, &m);
        assert_int_equal(races_in(&m), gone);
        assert_int_equal(rb_reader_count(&m.reader, RBT_LOCKS), 1 + gone);
        merged_free(&m);

        d = (struct draft){0};
        event(&d, 0, RB_FORK, 1, 0);
        event(&d, 0, RB_WRITE, WORD(0), 8);
        event(&d, 0, RB_RAW_FREED, WORD(0), 0);
        if (!gone)
            event(&d, 1, RB_RAW_FREED, WORD(8), 0);
        else
            event(&d, 1, RB_RAW_FORGET, WORD(0), 2000); // in an EXTENT
        event(&d, 1, RB_WRITE, WORD(0), 8);
        merge(&d, &m);
        assert_int_equal(races_in(&m), !gone);
        merged_free(&m);
    }
}

// The new owner of memory comes after its old one even if the clocks say otherwise.
static void freed_memory_goes_first(void **state)
{
    struct merged m;

    (void)state;
    d = (struct draft){0};
    event(&d, 0, RB_FORK, 1, 0);
    d.clock = 1000;
    event(&d, 0, RB_WRITE, WORD(0), 8);
    event(&d, 0, RB_RAW_FREED, WORD(0), 0);
    d.clock = 10;
    event(&d, 1, RB_RAW_FORGET, WORD(0), 8);
    event(&d, 1, RB_WRITE, WORD(0), 8);
    merge(&d, &m);
    assert_int_equal(races_in(&m), 0);
    assert_int_equal(m.event[1].thread, 0);
    merged_free(&m);
}

// The access of an acquiring operation is ordered by it, although it is recorded before.
static void atomic_accesses_are_ordered_by_their_operation(void **state)
{
    static const struct {
        enum rb_op op;
        bool ordered;
    } cases[] = {{RB_LOAD, true}, {RB_RMW, true}, {RB_RMW_REL, false}, {RB_STORE, false}};

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(cases); i++) {
        struct merged m;
        d = (struct draft){.state = RB_RAW_ENDED};
        event(&d, 0, RB_FORK, 1, 0);
        event(&d, 0, RB_WRITE, WORD(0), 4);
        event(&d, 0, RB_RAW_ATOMIC_WRITE, WORD(0), 4);
        event(&d, 0, RB_STORE, WORD(0), 0);
        event(&d, 1, RB_RAW_ATOMIC_WRITE, WORD(0), 4);
        event(&d, 1, cases[i].op, WORD(0), 0);
        event(&d, 1, RB_RAW_END, 0, 0);
        merge(&d, &m);
        assert_int_equal(races_in(&m) == 0, cases[i].ordered);
        merged_free(&m);
    }
}

// Cut off before the operation: the access would look unordered, and is left out.
static void a_last_atomic_access_is_left_out(void **state)
{
    struct merged m;

    (void)state;
    d = (struct draft){0};
    event(&d, 0, RB_FORK, 1, 0);
    event(&d, 0, RB_WRITE, WORD(0), 4);
    event(&d, 0, RB_STORE, WORD(0), 0);
    event(&d, 1, RB_RAW_ATOMIC_READ, WORD(0), 4);
    merge(&d, &m);
    assert_int_equal(m.notes.tail, 1);
    assert_int_equal(races_in(&m), 0);
    merged_free(&m);
}

// What one thread did in an older generation comes first and meets nothing of the newer.
static void generations_do_not_meet(void **state)
{
    struct merged m;

    (void)state;
    d = (struct draft){0};
    event(&d, 0, RB_FORK, 1, 0);
    d.clock = 100;
    generation(&d, 0, 1);
    event(&d, 0, RB_WRITE, WORD(0), 8);
    d.clock = 10; // earlier by the clock
    generation(&d, 1, 2);
    event(&d, 1, RB_WRITE, WORD(0), 8);
    merge(&d, &m);
    assert_int_equal(m.event[1].thread, 0);
    assert_int_equal(races_in(&m), 0);
    merged_free(&m);
}

static void names_places_and_functions(void **state)
{
    char scratch[32];
    struct merged m;

    (void)state;
    d = (struct draft){0};
    event(&d, 0, RB_EXIT, 0, 0); // of what was entered before
    event(&d, 0, RB_ENTER, 0, 0);
    event(&d, 0, RB_WRITE, WORD(2), 1);
    event(&d, 0, RB_EXIT, 0, 0);
    merge(&d, &m);
    assert_int_equal(m.reader.header.events, 3);
    assert_string_equal(rb_reader_name(&m.reader, RBT_LOCATIONS, m.event[1].location, scratch),
                        "program+0x10");
    assert_string_equal(rb_reader_name(&m.reader, RBT_VARIABLES, m.event[1].target, scratch), "0x9010");
    assert_string_equal(rb_reader_name(&m.reader, RBT_FUNCTIONS, m.event[2].target, scratch), "program+0x10");
    merged_free(&m);
}

// ---- damage --------------------------------------------------------------------------------------------

static void refuses(int fd, const char *what)
{
    struct rb_error e = {0};
    struct merged m;

    if (merge_fd(fd, &m, &e) == 0)
        fail_msg("took what should be refused: %s", what);
    if (!strstr(e.text, what))
        fail_msg("'%s' does not say '%s'", e.text, what);
    assert_int_equal(e.fault, RB_FAULT_INPUT);
    assert_int_equal(access(m.path, F_OK), -1);
    close(fd);
}

static void write32(int fd, uint64_t at, uint32_t value)
{
    write_all(fd, &value, sizeof(value), at);
}

static void says_what_is_damaged(void **state)
{
    const uint64_t first = 3 * RB_RAW_UNIT; // header, module, an unused unit
    int fd;

    (void)state;
    d = (struct draft){0};
    event(&d, 0, RB_WRITE, WORD(0), 8);
    event(&d, 0, RB_ACQUIRE, LOCK(0), 0);
    event(&d, 0, RB_RELEASE, LOCK(0), 0);
    fd = write_draft(&d);
    write32(fd, 0, 1);
    refuses(fd, "not a raw recording");
    fd = write_draft(&d);
    write32(fd, offsetof(struct rb_raw_header, version), 9);
    refuses(fd, "version 9");
    fd = write_draft(&d);
    write32(fd, first, 7);
    refuses(fd, "0x3000: magic number 7");
    fd = write_draft(&d);
    write32(fd, first + offsetof(struct rb_raw_chunk, bytes), 5000);
    refuses(fd, "0x3000: bytes 5000");
    fd = write_draft(&d);
    write32(fd, first + offsetof(struct rb_raw_chunk, bytes), 8 * RB_RAW_UNIT);
    refuses(fd, "cut off");
    fd = write_draft(&d);
    write32(fd, first + offsetof(struct rb_raw_chunk, used), 1000);
    refuses(fd, "records 1000");
    fd = write_draft(&d);
    write32(fd, first + offsetof(struct rb_raw_chunk, sequence), 1);
    refuses(fd, "sequence number 1");
    fd = write_draft(&d);
    write32(fd, first + sizeof(struct rb_raw_chunk) + 16 + 4, 20u << 26);
    refuses(fd, "0x3050 (code 20): not an event");
    fd = write_draft(&d);
    write32(fd, first + sizeof(struct rb_raw_chunk) + 16 + 6, 0); // the size of the write
    refuses(fd, "expected its size");
    fd = write_draft(&d);
    write32(fd, first + sizeof(struct rb_raw_chunk) + 3 * 16 + 8, 0); // the release has the acquire's number
    refuses(fd, "was given to another event");
    fd = write_draft(&d);
    write32(fd, first + sizeof(struct rb_raw_chunk) + 3 * 16 + 8, 1u << 30);
    refuses(fd, "more than there are records");
    d = (struct draft){0};
    event(&d, 1, RB_FORK, 1, 0);
    refuses(write_draft(&d), "thread 1 at offset 0x3040 waits for"); // itself
}

// Whatever is in the file: a trace or a line that says why not.
static void survives_random_damage(void **state)
{
    static struct play p;
    struct rb_rng rng;
    int good = 0;

    (void)state;
    rb_rng_seed(&rng, 3);
    for (int round = 0; round < 600; round++) {
        struct rb_error e = {0};
        struct merged m;
        play(&p, (uint64_t)round + 1, false);
        const int fd = write_draft(&p.draft);
        for (uint64_t n = rb_rng_below(&rng, 4); n > 0; n--) {
            const uint8_t byte = (uint8_t)rb_rng_next(&rng);
            const uint64_t chunk = RB_RAW_UNIT * rb_rng_below(&rng, 8);
            write_all(fd, &byte, 1, chunk + rb_rng_below(&rng, rb_rng_below(&rng, 2) ? 128 : RB_RAW_UNIT));
        }
        const int status = merge_fd(fd, &m, &e);
        assert_true(status == 0 || e.fault == RB_FAULT_INPUT);
        assert_int_equal(access(m.path, F_OK), status == 0 ? 0 : -1);
        good += status == 0;
        unlink(m.path);
        close(fd);
    }
    assert_in_range(good, 100, 590);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_order_of_true_clocks),
        cmocka_unit_test(keeps_happens_before_whatever_the_clocks),
        cmocka_unit_test(gets_over_holes),
        cmocka_unit_test(locks_that_do_not_match_are_made_to),
        cmocka_unit_test(lives_end),
        cmocka_unit_test(freed_memory_goes_first),
        cmocka_unit_test(atomic_accesses_are_ordered_by_their_operation),
        cmocka_unit_test(a_last_atomic_access_is_left_out),
        cmocka_unit_test(generations_do_not_meet),
        cmocka_unit_test(names_places_and_functions),
        cmocka_unit_test(says_what_is_damaged),
        cmocka_unit_test(survives_random_damage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
