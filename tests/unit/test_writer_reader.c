// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the writer wrote, the reader gives back; and what a kill, a truncation, a flipped bit or a liar made
// of it is refused with a message, or recovered and said to be so.
#define _GNU_SOURCE 1
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "trace/lock_check.h"
#include "trace/reader.h"
#include "trace/writer.h"

struct sizes {
    uint64_t threads, locks, variables, locations;
};

static const struct sizes small = {5, 7, 1000, 90};

static struct rb_event random_event(struct rb_rng *rng, const struct sizes *n)
{
    static const enum rb_op ops[] = {RB_READ,   RB_WRITE, RB_READ,  RB_WRITE, RB_READ, RB_WRITE,
                                     RB_LOAD,   RB_STORE, RB_RMW,   RB_POST,  RB_WAIT, RB_FORK,
                                     RB_ARRIVE, RB_LEAVE, RB_ENTER, RB_MARK};
    struct rb_event e = {.op = ops[rb_rng_below(rng, RB_LENGTH(ops))]};

    e.thread = (uint32_t)rb_rng_below(rng, n->threads);
    e.location = (uint32_t)rb_rng_below(rng, n->locations);
    e.target = rb_rng_below(rng, e.op < RB_FIRST_NON_ACCESS ? n->variables
                                 : e.op == RB_FORK          ? n->threads
                                                            : n->locks);
    return e;
}

static struct rb_event *random_events(uint64_t count, uint64_t seed, const struct sizes *n)
{
    struct rb_event *events = calloc(count + 1, sizeof(events[0]));
    struct rb_rng rng;

    assert_non_null(events);
    rb_rng_seed(&rng, seed);
    for (uint64_t i = 0; i < count; i++)
        events[i] = random_event(&rng, n);
    return events;
}

static int memory_file(void)
{
    const int fd = memfd_create("trace", MFD_CLOEXEC);

    assert_true(fd >= 0);
    return fd;
}

// Writes the events to a new memory file and finishes it.
static int write_events(const struct rb_event *events, uint64_t count, const struct rb_writer_hint *hint)
{
    struct rb_error e = {0};
    struct rb_writer w;
    const int fd = memory_file();

    if (rb_writer_open(&w, "test", fd, hint, &e) < 0)
        fail_msg("%s", e.text);
    for (uint64_t i = 0; i < count; i++)
        rb_writer_put(&w, &events[i], true);
    if (rb_writer_finish(&w, count > 0, 0) < 0)
        fail_msg("%s", e.text);
    return fd;
}

static void open_good(struct rb_reader *r, int fd)
{
    struct rb_error e = {0};

    if (rb_reader_open_fd(r, fd, "test", &e) < 0)
        fail_msg("%s", e.text);
}

static void expect_same_event(const struct rb_event *a, const struct rb_event *b)
{
    assert_int_equal(a->op, b->op);
    assert_int_equal(a->thread, b->thread);
    assert_int_equal(a->location, b->location);
    assert_int_equal(a->target, b->target);
}

static void expect_events(struct rb_reader *r, const struct rb_event *events, uint64_t count, uint32_t ahead)
{
    const bool wide = r->layout.record_bytes == 16;
    struct rb_error e = {0};
    uint64_t at = 0;

    assert_int_equal(r->header.events, count);
    for (uint64_t i = 0; i < r->pages; i++) {
        struct rb_page page;
        if (rb_reader_page(r, i, ahead, &page, &e) < 0)
            fail_msg("%s", e.text);
        assert_int_equal(page.first, at);
        for (uint32_t k = 0; k < page.count; k++, at++) {
            const struct rb_event got = rb_unpack(&r->layout, page.words + (wide ? 2 * k : k), wide);
            expect_same_event(&got, &events[at]);
        }
    }
    assert_int_equal(at, count);
}

// A copy of the file, cut to `bytes`.
static int copy_of(int fd, uint64_t bytes)
{
    const int copy = memory_file();
    unsigned char *data = malloc(bytes + 1);

    assert_non_null(data);
    assert_int_equal(pread(fd, data, bytes, 0), bytes);
    assert_int_equal(pwrite(copy, data, bytes, 0), bytes);
    free(data);
    return copy;
}

static uint64_t size_of(int fd)
{
    struct stat st;

    assert_int_equal(fstat(fd, &st), 0);
    return (uint64_t)st.st_size;
}

// Opens (which consumes `fd`), walks all pages and names; true if all is well. The message must be one line
// that names the file.
static bool readable(int fd, char *message, size_t room)
{
    struct rb_error e = {0};
    struct rb_reader r;
    struct rb_page page;
    bool good = rb_reader_open_fd(&r, fd, "test", &e) == 0;

    if (good) {
        for (uint64_t i = 0; i < r.pages && good; i++)
            good = rb_reader_page(&r, i, 3, &page, &e) == 0;
        good = good && rb_reader_load_names(&r, &e) == 0;
        rb_reader_close(&r);
    }
    if (!good) {
        assert_int_equal(e.fault, RB_FAULT_INPUT);
        assert_true(strncmp(e.text, "test: ", 6) == 0);
        assert_null(strchr(e.text, '\n'));
    }
    if (message)
        snprintf(message, room, "%s", e.text);
    return good;
}

static void refused(int fd, const char *part)
{
    char message[768];

    if (readable(fd, message, sizeof(message)))
        fail_msg("accepted; expected: %s", part);
    if (!strstr(message, part))
        fail_msg("\"%s\" does not contain \"%s\"", message, part);
}

// ---- round trips ---------------------------------------------------------------------------------------

static void reads_back_random_traces(void **state)
{
    static const uint64_t counts[] = {0, 1, 2, 254, 255, 256, 509, 510, 511, 1020, 1021, 33000, 70000};

    (void)state;
    for (size_t c = 0; c < RB_LENGTH(counts); c++) {
        for (int hinted = 0; hinted < 3; hinted++) {
            const struct rb_writer_hint some = {1000, 5, 90}, huge = {UINT64_C(1) << 60, 5, 90};
            struct rb_event *events = random_events(counts[c], c, &small);
            struct rb_reader r;
            open_good(&r, write_events(events, counts[c], hinted == 0 ? NULL : hinted == 1 ? &some : &huge));
            assert_int_equal(r.layout.record_bytes, hinted == 2 ? 16 : 8);
            assert_false(r.recovered);
            for (uint32_t ahead = 0; ahead < 200; ahead += 63)
                expect_events(&r, events, counts[c], ahead);
            for (uint64_t i = 0; i < counts[c]; i += 1 + counts[c] / 7) {
                struct rb_error e = {0};
                struct rb_event got;
                assert_int_equal(rb_reader_event(&r, i, &got, &e), 0);
                expect_same_event(&got, &events[i]);
            }
            rb_reader_close(&r);
            free(events);
        }
    }
}

// The event that does not fit comes at every interesting place, alone in one field.
static void widens_in_place(void **state)
{
    static const uint64_t places[] = {0,   1,   254, 255,  256,   400,   509,  510,
                                      511, 764, 765, 1020, 20000, 40000, 49999};
    const struct rb_writer_hint tight = {1 << 20, 1 << 14, 1 << 24}; // 20 + 14 + 24 = 58 bits

    (void)state;
    for (size_t p = 0; p < RB_LENGTH(places); p++) {
        for (int field = 0; field < 2; field++) {
            struct rb_event *events = random_events(50000, p, &small);
            struct rb_reader r;
            if (field == 0)
                events[places[p]] = (struct rb_event){.target = 1 << 20, .op = RB_WRITE};
            else
                events[places[p]] = (struct rb_event){.thread = 1 << 14, .op = RB_WRITE};
            open_good(&r, write_events(events, 50000, &tight));
            assert_int_equal(r.layout.record_bytes, 16);
            assert_false(r.recovered);
            expect_events(&r, events, 50000, 63);
            rb_reader_close(&r);
            free(events);
        }
    }
}

static void counts_what_the_header_says(void **state)
{
    const struct rb_event events[] = {
        {.op = RB_ACQUIRE, .target = 0}, {.op = RB_ACQUIRE, .target = 1, .thread = 1},
        {.op = RB_RD_ACQ, .target = 2},  {.op = RB_READ, .target = 9, .location = 4},
        {.op = RB_RD_REL, .target = 2},  {.op = RB_RELEASE, .target = 1, .thread = 1},
        {.op = RB_ACQUIRE, .target = 1}, {.op = RB_RELEASE, .target = 1},
        {.op = RB_WRITE, .target = 3},   {.op = RB_RELEASE, .target = 0},
    };
    struct rb_reader r;

    (void)state;
    open_good(&r, write_events(events, RB_LENGTH(events), NULL));
    assert_int_equal(r.header.locks_held, 3);
    assert_int_equal(r.header.accesses, 2);
    assert_int_equal(r.header.events_of[RB_ACQUIRE], 3);
    assert_int_equal(rb_reader_count(&r, RBT_THREADS), 2);
    assert_int_equal(rb_reader_count(&r, RBT_LOCKS), 3);
    assert_int_equal(rb_reader_count(&r, RBT_VARIABLES), 10);
    assert_int_equal(rb_reader_count(&r, RBT_LOCATIONS), 5);
    rb_reader_close(&r);
}

static void keeps_names_and_aliases(void **state)
{
    static const char names[] = "\x03"
                                "one\x00\x05three";
    const uint32_t aliases[2] = {1, 0};
    struct rb_error e = {0};
    struct rb_writer w;
    struct rb_reader r;
    const int fd = memory_file();
    char scratch[32];

    (void)state;
    assert_int_equal(rb_writer_open(&w, "test", fd, NULL, &e), 0);
    for (uint32_t i = 0; i < 3; i++)
        rb_writer_put(&w, &(struct rb_event){.op = RB_READ, .target = i, .thread = 0}, true);
    rb_writer_put(&w, &(struct rb_event){.op = RB_FORK, .target = 1}, true);
    rb_writer_table(&w, RBT_VARIABLES, 3, names, sizeof(names) - 1);
    rb_writer_aliases(&w, aliases, 1);
    assert_int_equal(rb_writer_finish(&w, 1, RBT_LENIENT), 0);
    open_good(&r, fd);
    assert_int_equal(rb_reader_load_names(&r, &e), 0);
    assert_string_equal(rb_reader_name(&r, RBT_VARIABLES, 0, scratch), "one");
    assert_string_equal(rb_reader_name(&r, RBT_VARIABLES, 1, scratch), "");
    assert_string_equal(rb_reader_name(&r, RBT_VARIABLES, 2, scratch), "three");
    assert_string_equal(rb_reader_name(&r, RBT_THREADS, 1, scratch), "T1");
    assert_string_equal(rb_reader_name(&r, RBT_LOCATIONS, 0, scratch), "0");
    assert_int_equal(rb_reader_thread(&r, 1), 0);
    assert_int_equal(r.header.flags, RBT_FINISHED | RBT_LENIENT);
    rb_reader_close(&r);
}

// ---- kills and cut-off files ---------------------------------------------------------------------------

static void recovers_a_killed_writer_at_every_page(void **state)
{
    struct rb_event *events = random_events(40000, 8, &small);

    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        const struct rb_writer_hint huge = {UINT64_C(1) << 60, 0, 0};
        struct rb_error e = {0};
        struct rb_writer w;
        const int fd = memory_file();
        assert_int_equal(rb_writer_open(&w, "test", fd, wide ? &huge : NULL, &e), 0);
        for (uint64_t i = 0; i < 40000; i++)
            rb_writer_put(&w, &events[i], true);
        const uint64_t written = size_of(fd), per_page = wide ? 255 : 510; // what a kill now would leave
        assert_true(written > 10 * RBT_PAGE_BYTES);
        for (uint64_t bytes = RBT_PAGE_BYTES; bytes <= written; bytes += RBT_PAGE_BYTES / 2) {
            const int copy = copy_of(fd, bytes);
            const uint64_t pages = bytes / RBT_PAGE_BYTES - 1;
            struct rb_reader r;
            if (pages == 0) {
                refused(copy, "before it wrote any events");
                continue;
            }
            open_good(&r, copy);
            assert_true(r.recovered);
            assert_int_equal(r.lost_bytes, bytes % RBT_PAGE_BYTES);
            expect_events(&r, events, pages * per_page, 63);
            rb_reader_close(&r);
        }
        rb_writer_abandon(&w);
    }
    free(events);
}

// The counts of a recovered file are those of a finished one.
static void recovery_counts_like_the_writer(void **state)
{
    struct rb_event events[1020];
    struct rb_lock_table locks = {0};
    struct rb_error e = {0};
    struct rb_writer w;
    struct rb_reader r, s;
    struct rb_rng rng;
    const int fd = memory_file();

    (void)state;
    rb_rng_seed(&rng, 12);
    assert_int_equal(rb_writer_open(&w, "test", fd, NULL, &e), 0);
    for (int i = 0; i < 1020; i++) {
        static const enum rb_op ops[] = {RB_ACQUIRE, RB_RELEASE, RB_RD_ACQ, RB_RD_REL, RB_READ};
        events[i] = random_event(&rng, &small);
        events[i].op = ops[rb_rng_below(&rng, RB_LENGTH(ops))];
        events[i].target %= small.locks;
        const bool outer =
            events[i].op != RB_READ &&
            rb_lock_table_apply(&locks, events[i].op, events[i].thread, events[i].target) == RB_LOCK_OUTER;
        rb_writer_put(&w, &events[i], outer);
    }
    rb_lock_table_free(&locks);
    assert_int_equal(rb_writer_finish(&w, 5, 0), 0);
    const int copy = copy_of(fd, size_of(fd));
    open_good(&r, fd);

    struct rbt_header unfinished = r.header;
    unfinished.flags = 0;
    unfinished.header_sum =
        rb_sum((const uint64_t *)&unfinished, offsetof(struct rbt_header, header_sum) / 8, 0);
    assert_int_equal(pwrite(copy, &unfinished, sizeof(unfinished), 0), sizeof(unfinished));
    open_good(&s, copy);
    assert_true(s.recovered);
    assert_int_equal(s.header.events, r.header.events);
    assert_int_equal(s.header.accesses, r.header.accesses);
    assert_int_equal(s.header.locks_held, r.header.locks_held);
    assert_int_equal(s.header.threads_run, r.header.threads_run);
    assert_memory_equal(s.header.events_of, r.header.events_of, sizeof(s.header.events_of));
    for (int t = 0; t < RBT_TABLES; t++)
        assert_int_equal(s.header.table[t].count, r.header.table[t].count);
    rb_reader_close(&r);
    rb_reader_close(&s);
}

static void refuses_every_truncation(void **state)
{
    struct rb_event *events = random_events(2000, 9, &small);
    const int fd = write_events(events, 2000, NULL);
    const uint64_t bytes = size_of(fd);

    (void)state;
    for (uint64_t cut = 0; cut < bytes; cut += cut < 5000 ? 7 : 301)
        assert_false(readable(copy_of(fd, cut), NULL, 0));
    assert_false(readable(copy_of(fd, bytes - 1), NULL, 0));
    assert_true(readable(copy_of(fd, bytes), NULL, 0));
    close(fd);
    free(events);
}

static void refuses_trailing_bytes(void **state)
{
    const struct rb_event event = {.op = RB_READ};
    const int fd = write_events(&event, 1, NULL);

    (void)state;
    assert_int_equal(pwrite(fd, "x", 1, (off_t)size_of(fd)), 1);
    refused(fd, "1 bytes too many");
}

// ---- damage --------------------------------------------------------------------------------------------

static void notices_every_flipped_bit_of_header_and_page(void **state)
{
    struct rb_event *events = random_events(300, 10, &small);
    const int fd = write_events(events, 300, NULL);
    const uint64_t bytes = size_of(fd);

    (void)state;
    assert_int_equal(bytes, 2 * RBT_PAGE_BYTES);
    for (uint64_t bit = 0; bit < bytes * 8; bit += bit < 8 * sizeof(struct rbt_header) ? 1 : 5) {
        unsigned char byte;
        const off_t at = (off_t)(bit / 8);
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= (unsigned char)(1u << bit % 8);
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        if (readable(dup(fd), NULL, 0))
            fail_msg("bit %llu", (unsigned long long)bit);
        byte ^= (unsigned char)(1u << bit % 8);
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    assert_true(readable(fd, NULL, 0));
    free(events);
}

static void notices_damaged_names(void **state)
{
    static const char names[] = "\x01"
                                "a\x01"
                                "b";
    const struct {
        const char *names;
        uint64_t bytes, count;
        const char *expected;
    } bad[] = {
        {"\x05"
         "abc",
         4, 1, "runs over the end"},
        {"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, 1, "runs over the end"},
        {"\x01"
         "a\x01"
         "b",
         4, 1, "behind the last name"},
        {"\x02"
         "a\0",
         3, 1, "NUL"},
    };

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(bad); i++) {
        struct rb_error e = {0};
        struct rb_writer w;
        const int fd = memory_file();
        assert_int_equal(rb_writer_open(&w, "test", fd, NULL, &e), 0);
        rb_writer_put(&w, &(struct rb_event){.op = RB_READ}, true);
        rb_writer_table(&w, RBT_VARIABLES, bad[i].count, bad[i].names, bad[i].bytes);
        assert_int_equal(rb_writer_finish(&w, 1, 0), 0);
        refused(fd, bad[i].expected);
    }
    struct rb_error e = {0};
    struct rb_writer w;
    const int fd = memory_file();
    assert_int_equal(rb_writer_open(&w, "test", fd, NULL, &e), 0);
    rb_writer_put(&w, &(struct rb_event){.op = RB_READ}, true);
    rb_writer_table(&w, RBT_VARIABLES, 2, names, sizeof(names) - 1);
    assert_int_equal(rb_writer_finish(&w, 1, 0), 0);
    assert_int_equal(pwrite(fd, "z", 1, (off_t)size_of(fd) - 7), 1);
    refused(fd, "table of variables");
}

// Changes one field of the header, with the checksum made right again.
static void refused_with(int fd, size_t offset, const void *value, size_t bytes, const char *part)
{
    const int copy = copy_of(fd, size_of(fd));
    struct rbt_header h;

    assert_int_equal(pread(copy, &h, sizeof(h), 0), sizeof(h));
    memcpy((char *)&h + offset, value, bytes);
    h.header_sum = rb_sum((const uint64_t *)&h, offsetof(struct rbt_header, header_sum) / 8, 0);
    assert_int_equal(pwrite(copy, &h, sizeof(h), 0), sizeof(h));
    refused(copy, part);
}

#define REFUSED_WITH(field, type, value, part) \
    refused_with(fd, offsetof(struct rbt_header, field), &(type){value}, sizeof(type), part)

static void refuses_a_header_that_lies(void **state)
{
    struct rb_event *events = random_events(2000, 11, &small);
    const int fd = write_events(events, 2000, NULL);

    (void)state;
    REFUSED_WITH(version, uint32_t, 2, "version 2");
    REFUSED_WITH(flags, uint32_t, 5, "flags");
    REFUSED_WITH(record_bytes, uint32_t, 4, "record size");
    REFUSED_WITH(record_bytes, uint32_t, 16, "field width");
    REFUSED_WITH(target_bits, uint8_t, 57, "field widths");
    REFUSED_WITH(reserved0, uint8_t, 1, "reserved");
    REFUSED_WITH(reserved1[7], uint64_t, 1, "reserved");
    REFUSED_WITH(events, uint64_t, UINT64_MAX, "events");
    REFUSED_WITH(events, uint64_t, 1999, "count");
    REFUSED_WITH(events_of[RB_READ], uint64_t, UINT64_MAX, "count of one kind");
    REFUSED_WITH(events_of[63], uint64_t, 1, "count");
    REFUSED_WITH(accesses, uint64_t, 7, "accesses");
    REFUSED_WITH(threads_run, uint64_t, 99, "threads that ran");
    REFUSED_WITH(locks_held, uint64_t, 2001, "locks held");
    REFUSED_WITH(table[RBT_THREADS].count, uint64_t, 65536, "at most 65535");
    REFUSED_WITH(table[RBT_LOCATIONS].count, uint64_t, (1 << 24) + 1, "at most 2^24");
    REFUSED_WITH(table[RBT_VARIABLES].count, uint64_t, UINT64_MAX, "without names");
    REFUSED_WITH(table[RBT_VARIABLES].count, uint64_t, UINT64_C(1) << 40, "without names");
    REFUSED_WITH(table[RBT_LOCKS].bytes, uint64_t, 100, "table of locks");
    REFUSED_WITH(table[RBT_LOCKS].bytes, uint64_t, UINT64_MAX, "table of locks");
    REFUSED_WITH(table[RBT_LOCKS].offset, uint64_t, 4096, "table of locks");
    REFUSED_WITH(aliases_count, uint64_t, 1, "aliases");
    REFUSED_WITH(aliases_count, uint64_t, UINT64_MAX, "aliases");
    REFUSED_WITH(aliases_offset, uint64_t, 4096, "aliases");
    // Tables too small for the events: found by the page check, which names the event.
    REFUSED_WITH(table[RBT_LOCATIONS].count, uint64_t, 50, "location");
    REFUSED_WITH(table[RBT_VARIABLES].count, uint64_t, 900, "does not exist, the trace has 900 variables");
    close(fd);
    free(events);
}

// A record that names what is not there, checksum right: the message has the event's number.
static void names_the_bad_event(void **state)
{
    static const struct {
        struct rb_event event;
        const char *part;
    } bad[] = {
        {{.thread = 99, .op = RB_READ},
         "event 777 (offset 0x2868): thread 99 does not exist, the trace has 5 threads"},
        {{.location = 90, .op = RB_READ}, "event 777 (offset 0x2868): location 90 does not exist"},
        {{.target = 1000, .op = RB_WRITE}, "event 777 (offset 0x2868): variable 1000 does not exist"},
        {{.op = (enum rb_op)7}, "event 777 (offset 0x2868): code 7"},
        {{.op = (enum rb_op)63}, "event 777 (offset 0x2868): code 63"},
    };
    struct rb_event *events = random_events(2000, 11, &small);

    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        const struct rb_writer_hint huge = {UINT64_C(1) << 60, 0, 0};
        events[0] = (struct rb_event){.op = RB_READ, .target = 999, .thread = 4, .location = 89};
        const int fd = write_events(events, 2000, wide ? &huge : NULL);
        for (size_t i = 0; i < RB_LENGTH(bad); i++) {
            const int copy = copy_of(fd, size_of(fd));
            const uint64_t page_index = wide ? 777 / 255 : 777 / 510, slot = wide ? 777 % 255 * 2 : 777 % 510;
            uint64_t page[512];
            struct rb_layout l;
            struct rbt_header h;
            assert_int_equal(pread(fd, &h, sizeof(h), 0), sizeof(h));
            assert_true(rb_layout_set(&l, h.record_bytes, h.target_bits, h.thread_bits, h.location_bits));
            assert_int_equal(pread(fd, page, 4096, (off_t)((page_index + 1) * 4096)), 4096);
            rb_pack(&l, &bad[i].event, page + 2 + slot);
            page[1] = rb_sum(page + 2, 510, page_index + 1);
            assert_int_equal(pwrite(copy, page, 4096, (off_t)((page_index + 1) * 4096)), 4096);
            refused(copy, wide ? "event 777" : bad[i].part);
        }
        close(fd);
    }
    free(events);
}

// Good pages before a bad one are still handed out.
static void gives_the_pages_before_a_bad_one(void **state)
{
    struct rb_event *events = random_events(510 * 5, 13, &small);
    const int fd = write_events(events, 510 * 5, NULL);
    struct rb_error e = {0};
    struct rb_reader r;
    struct rb_page page;

    (void)state;
    assert_int_equal(pwrite(fd, "\x55\xaa", 2, 4 * 4096 + 100), 2);
    open_good(&r, fd);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(rb_reader_page(&r, i, 63, &page, &e), 0);
    assert_true(rb_reader_page(&r, 3, 63, &page, &e) < 0);
    assert_non_null(strstr(e.text, "page 3 (offset 0x4000, events from 1530): checksum"));
    rb_reader_close(&r);
    free(events);
}

// ---- what is not a file --------------------------------------------------------------------------------

static void refuses_what_is_no_trace(void **state)
{
    char directory[] = "/tmp/rb_test_XXXXXX", path[64];
    struct rb_error e = {0};
    struct rb_reader r;

    (void)state;
    assert_non_null(mkdtemp(directory));
    assert_true(rb_reader_open(&r, directory, &e) < 0);
    assert_non_null(strstr(e.text, "is a directory"));
    snprintf(path, sizeof(path), "%s/fifo", directory);
    assert_int_equal(mkfifo(path, 0600), 0);
    e = (struct rb_error){0};
    assert_true(rb_reader_open(&r, path, &e) < 0);
    assert_non_null(strstr(e.text, "is a pipe"));
    struct rb_writer w;
    e = (struct rb_error){0};
    assert_true(rb_writer_open(&w, path, -1, NULL, &e) < 0);
    assert_non_null(strstr(e.text, "not a regular file"));
    unlink(path);
    e = (struct rb_error){0};
    assert_true(rb_reader_open(&r, path, &e) < 0);
    assert_int_equal(e.fault, RB_FAULT_INPUT);
    rmdir(directory);

    int fd = memory_file();
    refused(fd, "is empty");
    fd = memory_file();
    assert_int_equal(write(fd, "T0|r(x)|1\n", 10), 10);
    refused(fd, "starts with the text \"T0|r(x)|1\"");
}

// Whatever stops a writer, it says so and leaves nothing behind.
static void gives_up_cleanly(void **state)
{
    char directory[] = "/tmp/rb_test_XXXXXX", path[64];
    struct rb_error e = {0};
    struct rb_writer w;

    (void)state;
    assert_non_null(mkdtemp(directory));
    snprintf(path, sizeof(path), "%s/a.rbt", directory);
    assert_int_equal(rb_writer_open(&w, path, -1, NULL, &e), 0);
    rb_writer_abandon(&w);
    assert_int_not_equal(access(path, F_OK), 0);
    rb_writer_abandon(&w); // harmless

    assert_int_equal(rb_writer_open(&w, path, -1, NULL, &e), 0);
    rb_writer_put(&w, &(struct rb_event){.op = RB_READ, .thread = RB_MAX_THREADS}, true);
    assert_true(rb_writer_finish(&w, 1, 0) < 0);
    assert_non_null(strstr(e.text, "threads"));
    assert_int_not_equal(access(path, F_OK), 0);
    e = (struct rb_error){0};
    assert_int_equal(rb_writer_open(&w, path, -1, NULL, &e), 0);
    rb_writer_put(&w, &(struct rb_event){.op = RB_READ, .target = 5}, true);
    rb_writer_table(&w, RBT_VARIABLES, 5, NULL, 0);
    assert_true(rb_writer_finish(&w, 1, 0) < 0);
    assert_int_equal(e.fault, RB_FAULT_INTERNAL);
    rmdir(directory);

    // A sealed memory file refuses to grow, as a full disk would.
    const int fd = memfd_create("full", MFD_ALLOW_SEALING);
    e = (struct rb_error){0};
    assert_int_equal(rb_writer_open(&w, "full", fd, NULL, &e), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
    for (int i = 0; i < 200000; i++)
        rb_writer_put(&w, &(struct rb_event){.op = RB_READ, .target = i == 150000 ? UINT64_C(1) << 50 : 0},
                      true);
    assert_true(rb_writer_finish(&w, 1, 0) < 0);
    assert_non_null(strstr(e.text, "full: cannot write at offset 0x1000"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_back_random_traces),
        cmocka_unit_test(widens_in_place),
        cmocka_unit_test(counts_what_the_header_says),
        cmocka_unit_test(keeps_names_and_aliases),
        cmocka_unit_test(recovers_a_killed_writer_at_every_page),
        cmocka_unit_test(recovery_counts_like_the_writer),
        cmocka_unit_test(refuses_every_truncation),
        cmocka_unit_test(refuses_trailing_bytes),
        cmocka_unit_test(notices_every_flipped_bit_of_header_and_page),
        cmocka_unit_test(notices_damaged_names),
        cmocka_unit_test(refuses_a_header_that_lies),
        cmocka_unit_test(names_the_bad_event),
        cmocka_unit_test(gives_the_pages_before_a_bad_one),
        cmocka_unit_test(refuses_what_is_no_trace),
        cmocka_unit_test(gives_up_cleanly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
