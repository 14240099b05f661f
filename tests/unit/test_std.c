// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// STD text: what is accepted, what is refused and with which words, and that a trace survives the way through
// text and back.
#define _GNU_SOURCE 1
#include <dirent.h>
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
#include "trace/std/std.h"

static int text_file(const char *text, size_t bytes, char *path, size_t room)
{
    const int fd = memfd_create("text", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, bytes), bytes);
    snprintf(path, room, "/proc/self/fd/%d", fd);
    return fd;
}

// Imports a file; the reader is open afterwards if 0 is returned.
static int import_path(const char *path, bool lenient, struct rb_reader *r, struct rb_std_notes *notes,
                       struct rb_error *e)
{
    const int fd = memfd_create("trace", MFD_CLOEXEC);
    struct rb_writer w;

    assert_true(fd >= 0);
    *e = (struct rb_error){0};
    assert_int_equal(rb_writer_open(&w, "trace", fd, NULL, e), 0);
    const int status = rb_std_import(path, &w, lenient, notes, e);
    if (status < 0)
        return status;
    if (rb_reader_open_fd(r, fd, "trace", e) < 0)
        fail_msg("what was imported does not open: %s", e->text);
    return 0;
}

static int import_bytes(const char *text, size_t bytes, bool lenient, struct rb_reader *r,
                        struct rb_std_notes *notes, struct rb_error *e)
{
    char path[64];
    const int fd = text_file(text, bytes, path, sizeof(path));
    const int status = import_path(path, lenient, r, notes, e);

    close(fd);
    return status;
}

// The text of a trace; to be freed.
static char *export_text(struct rb_reader *r, size_t *bytes, uint64_t *foreign, uint64_t *renamed)
{
    struct rb_error e = {0};
    char *text = NULL;
    FILE *out = open_memstream(&text, bytes);

    assert_non_null(out);
    if (rb_std_export(r, out, foreign, renamed, &e) < 0)
        fail_msg("%s", e.text);
    fclose(out);
    return text;
}

static void expect_round_trip(const char *text, const char *expected)
{
    struct rb_std_notes notes;
    struct rb_error e;
    struct rb_reader r;
    uint64_t foreign, renamed;
    size_t bytes;

    if (import_bytes(text, strlen(text), false, &r, &notes, &e) < 0)
        fail_msg("\"%s\": %s", text, e.text);
    char *back = export_text(&r, &bytes, &foreign, &renamed);
    assert_string_equal(back, expected);
    assert_int_equal(renamed, 0);
    free(back);
    rb_reader_close(&r);
}

static void accepts(void **state)
{
    static const char *const same[] = {
        "T0|r(x)|1\n",
        "T0|w(V234.23[0])|-2147483648\nT0|r(a(b)c)|2147483647\n",
        "T0|r(x)|0\nT0|r(())|0\nT0|r())|0\nT0|r(()|0\n",
        "T0|r(with space)|1\n T0 |w(@@ x)|1\n",
        "|r(x)|1\n", // a thread may have an empty name
        "T0|acq(l)|1\nT0|acq(l)|1\nT0|rel(l)|1\nT0|rel(l)|1\n",
        "T0|begin|1\nT0|begin(f)|1\nT0|end()|1\nT0|branch|9\nT0|req(L)|1\nT0|dummy(x)|1\nT0|mark(7)|1\n",
        "T0|fork(T1)|1\nT1|r(x)|2\nT0|join(T1)|3\n",
        "T0|racq(l)|1\nT1|racq(l)|1\nT0|rrel(l)|1\nT1|rrel(l)|1\n",
        "T0|load(a)|1\nT0|store(a)|1\nT0|rmw(a)|1\nT0|rmwrel(a)|1\nT0|post(s)|1\nT1|wait(s)|1\n",
        "T0|arrive(b)|1\nT0|leave(b)|1\nT0|enter(f)|1\nT0|enter(operator|(a, b))|1\nT0|exit(operator||)|1\n",
        "#1|r(x)|1\n//|w(x)|2\n", // parses, so it is an event
        "\xc3\xa9|r(\xe2\x82\xac)|1\n",
        ("a name of more than eight bytes|r(another name of more than eight bytes)|1\n"
         "a name of more than eight bytez|r(another name of more than eight bytes!)|1\n"),
        "T0|r(V0)|0\nT1|w(V1)|1\nT0|acq(L0)|2\n",
        "T0\r|r(x\r)|1\n",
    };

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(same); i++)
        expect_round_trip(same[i], same[i]);
    expect_round_trip("T0|r(x)|1", "T0|r(x)|1\n");
    expect_round_trip("T0|r(x)|1\r\nT1|w(x)|2\r\n", "T0|r(x)|1\nT1|w(x)|2\n");
    expect_round_trip("\xef\xbb\xbfT0|r(x)|1\n", "T0|r(x)|1\n");
    expect_round_trip("\xef\xbb\xbf\xef\xbb\xbfT0|r(x)|1\n", "\xef\xbb\xbf\xef\xbb\xbfT0|r(x)|1\n");
    expect_round_trip("# one\n\n// two | three | four\n \t\nT0|r(x)|1\n\n\n#", "T0|r(x)|1\n");
    expect_round_trip("T0|r(x)|007\nT0|r(x)|+7\nT0|r(x)|-0\n", "T0|r(x)|7\nT0|r(x)|7\nT0|r(x)|0\n");
}

static void refuses(void **state)
{
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"", "no events in 0 lines"},
        {"# only this\n", "no events in 1 lines"},
        {"T0|r(x)|1\nnonsense\n", ":2: \"nonsense\" has 1 of 3 fields"},
        {"T0|r(x)\n", "2 of 3 fields"},
        {"T0|r(x)|1|2\n", "has 4 fields, expected 3"},
        {"T0|r(x)|\n", "location \"\""},
        {"T0|r(x)|0x2\n", "location \"0x2\""},
        {"T0|r(x)|3000000000\n", "location \"3000000000\""},
        {"T0|r(x)|2147483648\n", "location"},
        {"T0|r(x)|-2147483649\n", "location"},
        {"T0|r(x)|99999999999999999999999999\n", "location"},
        {"T0|r(x)|1 \n", "location \"1 \""},
        {"T0|r(x)|-\n", "location \"-\""},
        {"T0|r(x)|1\r\r\n", "location"},
        {"T0|r()|1\n", "the target has no name"},
        {"T0|acq()|1\n", "the target has no name"},
        {"T0|r|1\n", "expected a target in parentheses, as in r(x)"},
        {"T0|acq|1\n", "as in acq(x)"},
        {"T0|r(x|1\n", "expected a target in parentheses"},
        {"T0|r(x) |1\n", "expected a target in parentheses"},
        {"T0||1\n", "unknown operation \"\""},
        {"T0|begin(x|1\n", "closing parenthesis is missing"},
        {"T0| r(x)|1\n", "unknown operation \" r\""},
        {"T0|R(x)|1\n", "unknown operation \"R\""},
        {"T0|read(x)|1\n", "did you mean r?"},
        {"T0|lock(x)|1\n", "did you mean acq?"},
        {"T0|frok(x)|1\n", "did you mean fork?"},
        {"T0|sync(x)|1\n", "known are r, w, acq, rel"},
        {"T0|notifyAll(x)|1\n", "unknown operation \"notifyAll\""},
        {"T0|beginning|1\n", "unknown operation"},
        {"T0|rel(l)|1\n", ":1: rel by T0 of lock l, but no thread holds it; --lenient"},
        {"T0|acq(l)|1\nT1|rel(l)|1\n", ":2: rel by T1 of lock l, but T0 holds it"},
        {"T0|acq(l)|1\nT1|acq(l)|1\n", ":2: acq by T1 of lock l, but T0 holds it"},
        {"T0|racq(l)|1\nT1|rrel(l)|1\n", ":2: rrel by T1 of lock l, but that thread has not read-locked it"},
        {"RAILBIRD....", "Railbird trace already"},
    };

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(bad); i++) {
        struct rb_std_notes notes;
        struct rb_error e;
        struct rb_reader r;
        if (import_bytes(bad[i].text, strlen(bad[i].text), false, &r, &notes, &e) == 0)
            fail_msg("accepted: %s", bad[i].text);
        assert_int_equal(e.fault, RB_FAULT_INPUT);
        if (!strstr(e.text, bad[i].part))
            fail_msg("\"%s\" does not contain \"%s\"", e.text, bad[i].part);
    }
}

static void refuses_nul_and_long_lines(void **state)
{
    static const char nul[] = "T0|r(x)|1\nT0|r(a\0b)|1\n", nul_thread[] = "T\0|r(x)|1\n";
    struct rb_std_notes notes;
    struct rb_error e;
    struct rb_reader r;
    const size_t most = 65536;
    char *line = malloc(3 * most + 100);

    (void)state;
    assert_true(import_bytes(nul, sizeof(nul) - 1, false, &r, &notes, &e) < 0);
    assert_non_null(strstr(e.text, ":2: a name contains a NUL byte"));
    assert_true(import_bytes(nul_thread, sizeof(nul_thread) - 1, false, &r, &notes, &e) < 0);
    assert_non_null(strstr(e.text, ":1: a name contains a NUL byte"));

    // Exactly the limit is read, one more is not, with and without a newline, in a comment too.
    assert_non_null(line);
    for (size_t length = most - 1; length <= most + 2; length++) {
        for (int form = 0; form < 3; form++) {
            memset(line, 'x', length);
            memcpy(line, form == 2 ? "## " : "T|r", 3);
            if (form != 2) {
                line[3] = '(';
                memcpy(line + length - 3, ")|1", 3);
            }
            line[length] = '\n';
            memcpy(line + length + 1, "T|r(x)|1\n", 9);
            const size_t bytes = form == 1 ? length : length + 10;
            const int status = import_bytes(line, bytes, false, &r, &notes, &e);
            assert_int_equal(status == 0, length <= most);
            if (status == 0)
                rb_reader_close(&r);
            else
                assert_non_null(strstr(e.text, ":1: a line of more than 65536 bytes"));
        }
    }
    memset(line, 'y', 3 * most);
    assert_true(import_bytes(line, 3 * most, false, &r, &notes, &e) < 0);
    assert_non_null(strstr(e.text, "a line of more than"));
    free(line);

    assert_true(import_path("/", false, &r, &notes, &e) < 0);
    assert_non_null(strstr(e.text, "is a directory"));
    assert_true(import_path("/nonexistent", false, &r, &notes, &e) < 0);
    assert_int_equal(e.fault, RB_FAULT_INPUT);
}

static void finds_the_thread_a_fork_means(void **state)
{
    static const char text[] =
        "T1|fork(122)|1\nT122|r(x)|2\nT1|fork(5)|1\nT1|fork(7)|1\n7|r(x)|1\nT7|r(x)|1\n"
        "T1|join(122)|1\nT1|join(99)|1\n";
    struct rb_std_notes notes;
    struct rb_error e;
    struct rb_reader r;
    struct rb_event event;
    char scratch[32];
    uint64_t foreign, renamed;
    size_t bytes;

    (void)state;
    assert_int_equal(import_bytes(text, sizeof(text) - 1, false, &r, &notes, &e), 0);
    assert_int_equal(notes.aliased, 1);
    assert_string_equal(notes.alias_example, "122");
    assert_int_equal(rb_reader_load_names(&r, &e), 0);
    assert_int_equal(rb_reader_event(&r, 0, &event, &e), 0);
    assert_string_equal(rb_reader_name(&r, RBT_THREADS, event.target, scratch), "122");
    assert_string_equal(rb_reader_name(&r, RBT_THREADS, rb_reader_thread(&r, event.target), scratch), "T122");
    assert_int_equal(rb_reader_event(&r, 3, &event, &e), 0);
    assert_int_equal(rb_reader_thread(&r, event.target), event.target); // 7 is a thread itself
    assert_int_equal(r.header.threads_run, 5);                          // T1, T122, 5, 7, T7; 99 only joined
    char *back = export_text(&r, &bytes, &foreign, &renamed);
    assert_string_equal(back, text);
    free(back);
    rb_reader_close(&r);
}

static void lenient_counts_and_keeps(void **state)
{
    static const char text[] =
        "T0|rel(l)|1\nT0|acq(l)|2\nT1|acq(l)|3\nT0|rel(l)|4\nT1|rel(l)|5\nT1|rrel(l)|6\n"
        "T1|acq(l)|7\nT1|rel(l)|8\n";
    struct rb_std_notes notes;
    struct rb_error e;
    struct rb_reader r;
    uint64_t foreign, renamed;
    size_t bytes;

    (void)state;
    assert_int_equal(import_bytes(text, sizeof(text) - 1, true, &r, &notes, &e), 0);
    assert_int_equal(notes.unmatched_release, 3);
    assert_int_equal(notes.overlapping_acquire, 1);
    assert_int_equal(r.header.flags, RBT_FINISHED | RBT_LENIENT);
    assert_int_equal(r.header.locks_held, 1);
    char *back = export_text(&r, &bytes, &foreign, &renamed);
    assert_string_equal(back, text);
    assert_int_equal(foreign, 1);
    free(back);
    rb_reader_close(&r);
}

static void counts_lines_of_each_kind(void **state)
{
    static const char text[] = "# a\n\n  \n// b\nT0|begin|1\nT0|r(x)|1\nT0|end|1";
    struct rb_std_notes notes;
    struct rb_error e;
    struct rb_reader r;

    (void)state;
    assert_int_equal(import_bytes(text, sizeof(text) - 1, false, &r, &notes, &e), 0);
    assert_int_equal(notes.lines, 7);
    assert_int_equal(notes.comments, 2);
    assert_int_equal(notes.blank, 2);
    assert_int_equal(notes.marks, 2);
    rb_reader_close(&r);
}

// Random names of random lengths, some beyond a block of the reader, through text and back and forth.
// Long enough for the second thread and for its chunks to go round twice: comes back as it was; and an error
// in the middle is found at its line, unless the locks went wrong before it.
static void long_text_takes_two_threads(void **state)
{
    enum { LINES = 120000, BAD = 77777 };
    struct rb_std_notes notes;
    struct rb_error e;
    struct rb_reader r;
    char *text = NULL, expected[64];
    size_t bytes;

    (void)state;
    for (int variant = 0; variant < 3;
         variant++) { // good; an unknown operation; and misuse of a lock before it
        FILE *out = open_memstream(&text, &bytes);
        assert_non_null(out);
        for (int i = 0; i < LINES; i++) {
            if (variant > 0 && i == BAD)
                fprintf(out, "T1|frob(x)|3\n");
            else if (variant > 1 && i == BAD - 500)
                fprintf(out, "T1|rel(never)|3\n");
            else
                fprintf(out, "T%d|%s(V%d)|%d\n", i % 7, i % 3 ? "r" : "w", i % 1000, i % 50);
        }
        fclose(out);
        assert_true(bytes > (size_t)1 << 20);
        const int status = import_bytes(text, bytes, false, &r, &notes, &e);
        if (variant == 0) {
            uint64_t foreign, renamed;
            size_t back_bytes;
            assert_int_equal(status, 0);
            assert_int_equal(r.header.events, LINES);
            char *back = export_text(&r, &back_bytes, &foreign, &renamed);
            assert_int_equal(back_bytes, bytes);
            assert_memory_equal(back, text, bytes);
            free(back);
            rb_reader_close(&r);
        } else {
            assert_true(status < 0);
            snprintf(expected, sizeof(expected), ":%d:", variant == 1 ? BAD + 1 : BAD - 500 + 1);
            if (!strstr(e.text, expected))
                fail_msg("expected line %s in: %s", expected, e.text);
        }
        free(text);
    }
}

static void random_text_survives(void **state)
{
    static const char *const words[] = {"r",    "w",    "load",  "store", "rmw",
                                        "post", "wait", "enter", "fork",  "join"};
    static const char alphabet[] = "abcTV0123456789.[]()@ #/\t\xc3\xa9-";
    struct rb_rng rng;

    (void)state;
    rb_rng_seed(&rng, 5);
    for (int round = 0; round < 60; round++) {
        char *text = NULL, names[40][200];
        size_t bytes, back_bytes;
        FILE *out = open_memstream(&text, &bytes);
        const unsigned longest = round % 3 == 0 ? 190 : 12;
        assert_non_null(out);
        for (size_t i = 0; i < RB_LENGTH(names); i++) {
            const size_t n = 1 + rb_rng_below(&rng, longest);
            for (size_t k = 0; k < n; k++)
                names[i][k] = alphabet[rb_rng_below(&rng, sizeof(alphabet) - 1)];
            names[i][n] = 0;
        }
        for (int i = 0; i < (round % 10 == 0 ? 60000 : 500); i++)
            fprintf(out, "%s|%s(%s)|%d\n", names[rb_rng_below(&rng, 10)],
                    words[rb_rng_below(&rng, RB_LENGTH(words))], names[rb_rng_below(&rng, 40)],
                    (int32_t)(rb_rng_next(&rng) >> (32 + rb_rng_below(&rng, 32))));
        fclose(out);

        struct rb_std_notes notes;
        struct rb_error e;
        struct rb_reader r;
        uint64_t foreign, renamed;
        if (import_bytes(text, bytes, false, &r, &notes, &e) < 0)
            fail_msg("%s", e.text);
        char *back = export_text(&r, &back_bytes, &foreign, &renamed);
        assert_int_equal(back_bytes, bytes);
        assert_memory_equal(back, text, bytes);
        assert_int_equal(renamed, 0);
        rb_reader_close(&r);
        free(back);
        free(text);
    }
}

// ---- traces with names text cannot hold ----------------------------------------------------------------

struct packed {
    unsigned char bytes[256];
    size_t length;
    uint64_t count;
};

static void pack(struct packed *p, const char *name)
{
    p->bytes[p->length++] = (unsigned char)strlen(name);
    memcpy(p->bytes + p->length, name, strlen(name));
    p->length += strlen(name);
    p->count++;
}

static char *export_named(enum rbt_table table, const char *const *names, const struct rb_event *events,
                          size_t count, const uint32_t *alias, uint64_t *renamed)
{
    struct rb_error e = {0};
    struct packed p = {0};
    struct rb_writer w;
    struct rb_reader r;
    uint64_t foreign;
    size_t bytes;
    const int fd = memfd_create("trace", MFD_CLOEXEC);

    for (; *names; names++)
        pack(&p, *names);
    assert_int_equal(rb_writer_open(&w, "trace", fd, NULL, &e), 0);
    for (size_t i = 0; i < count; i++)
        rb_writer_put(&w, &events[i], true);
    rb_writer_table(&w, table, p.count, p.bytes, p.length);
    if (alias)
        rb_writer_aliases(&w, alias, 1);
    if (rb_writer_finish(&w, 1, 0) < 0 || rb_reader_open_fd(&r, fd, "trace", &e) < 0)
        fail_msg("%s", e.text);
    char *text = export_text(&r, &bytes, &foreign, renamed);
    rb_reader_close(&r);

    // It must be readable again, as the same number of events.
    struct rb_std_notes notes;
    if (import_bytes(text, bytes, true, &r, &notes, &e) < 0)
        fail_msg("%s", e.text);
    assert_int_equal(r.header.events, count);
    rb_reader_close(&r);
    return text;
}

static void renames_what_text_cannot_hold(void **state)
{
    const struct rb_event reads[] = {{.op = RB_READ},
                                     {.op = RB_READ, .target = 1},
                                     {.op = RB_READ, .target = 2}};
    const struct rb_event marks[] = {{.op = RB_MARK},
                                     {.op = RB_MARK, .target = 1},
                                     {.op = RB_MARK, .target = 2}};
    const struct rb_event places[] = {{.op = RB_READ}, {.op = RB_READ, .location = 1}};
    const struct rb_event forks[] = {{.op = RB_FORK, .thread = 1, .target = 0}, {.op = RB_READ, .thread = 1}};
    const uint32_t alias[2] = {0, 1};
    uint64_t renamed;
    char *text;

    (void)state;
    text =
        export_named(RBT_VARIABLES, (const char *const[]){"a|b\n", "", "x", NULL}, reads, 3, NULL, &renamed);
    assert_string_equal(text, "T0|r(a_b_#0)|0\nT0|r(#1)|0\nT0|r(x)|0\n");
    assert_int_equal(renamed, 2);
    free(text);
    text =
        export_named(RBT_VARIABLES, (const char *const[]){"x", "x", "x#1", NULL}, reads, 3, NULL, &renamed);
    assert_string_equal(text, "T0|r(x)|0\nT0|r(x#1)|0\nT0|r(x#1#2)|0\n");
    assert_int_equal(renamed, 2);
    free(text);
    text = export_named(RBT_MARKS, (const char *const[]){"r(x)", "begin", "odd", NULL}, marks, 3, NULL,
                        &renamed);
    assert_string_equal(text, "T0|mark(r(x)#0)|0\nT0|begin|0\nT0|mark(odd#2)|0\n");
    free(text);
    text = export_named(RBT_LOCATIONS, (const char *const[]){"a.c:5", "0", NULL}, places, 2, NULL, &renamed);
    assert_string_equal(text, "T0|r(V0)|0\nT0|r(V0)|1\n");
    assert_int_equal(renamed, 2);
    free(text);
    // Two threads that an import would take for one; and one that really is the other.
    text = export_named(RBT_THREADS, (const char *const[]){"5", "T5", NULL}, forks, 2, NULL, &renamed);
    assert_string_equal(text, "T5|fork(5#0)|0\nT5|r(V0)|0\n");
    free(text);
    text = export_named(RBT_THREADS, (const char *const[]){"5", "T5", NULL}, forks, 2, alias, &renamed);
    assert_string_equal(text, "T5|fork(5)|0\nT5|r(V0)|0\n");
    free(text);
    text = export_named(RBT_THREADS, (const char *const[]){"5", "main", NULL}, forks, 2, alias, &renamed);
    assert_string_equal(text, "main|fork(main)|0\nmain|r(V0)|0\n");
    free(text);
}

// ---- golden files --------------------------------------------------------------------------------------

static char *slurp(const char *path, size_t *bytes)
{
    FILE *in = fopen(path, "rb");
    char *text = malloc(1 << 20);

    if (!in)
        fail_msg("cannot open %s", path);
    assert_non_null(text);
    *bytes = fread(text, 1, (1 << 20) - 1, in);
    text[*bytes] = 0;
    fclose(in);
    return text;
}

static void golden(const char *folder, void (*check)(const char *path))
{
    const char *data = getenv("RB_TEST_DATA");
    char path[1024];
    struct dirent *entry;
    int found = 0;

    snprintf(path, sizeof(path), "%s/traces/%s", data ? data : "tests", folder);
    DIR *dir = opendir(path);
    if (!dir)
        fail_msg("no folder %s", path);
    while ((entry = readdir(dir))) {
        const size_t n = strlen(entry->d_name);
        if (n < 5 ||
            (strcmp(entry->d_name + n - 4, ".std") != 0 && strcmp(entry->d_name + n - 4, ".rbt") != 0))
            continue;
        snprintf(path, sizeof(path), "%s/traces/%s/%s", data ? data : "tests", folder, entry->d_name);
        check(path);
        found++;
    }
    closedir(dir);
    assert_true(found > 0);
}

// Opens a trace of either kind and reads all of it.
static int open_any(const char *path, struct rb_reader *r, struct rb_error *e)
{
    const size_t n = strlen(path);
    struct rb_std_notes notes;
    struct rb_page page;
    int status;

    *e = (struct rb_error){0};
    if (strcmp(path + n - 4, ".std") == 0)
        return import_path(path, false, r, &notes, e);
    if ((status = rb_reader_open(r, path, e)) < 0)
        return status;
    for (uint64_t i = 0; i < r->pages && status == 0; i++)
        status = rb_reader_page(r, i, 0, &page, e);
    if (status == 0)
        status = rb_reader_load_names(r, e);
    if (status < 0)
        rb_reader_close(r);
    return status;
}

// Good: opens, and its text is what is beside it (FILE.text), or else its own bytes.
static void good_file(const char *path)
{
    struct rb_error e;
    struct rb_reader r;
    uint64_t foreign, renamed;
    size_t bytes, expected_bytes;
    char beside[1100];

    if (open_any(path, &r, &e) < 0)
        fail_msg("%s", e.text);
    char *text = export_text(&r, &bytes, &foreign, &renamed);
    snprintf(beside, sizeof(beside), "%s.text", path);
    char *expected = slurp(access(beside, R_OK) == 0 ? beside : path, &expected_bytes);
    assert_string_equal(text, expected);
    rb_reader_close(&r);
    free(text);
    free(expected);
}

static void bad_file(const char *path)
{
    struct rb_error e;
    struct rb_reader r;
    size_t bytes;
    char beside[1100];

    snprintf(beside, sizeof(beside), "%s.expect", path);
    char *expected = slurp(beside, &bytes);
    expected[strcspn(expected, "\n")] = 0;
    if (open_any(path, &r, &e) == 0)
        fail_msg("%s is accepted", path);
    if (!strstr(e.text, expected))
        fail_msg("%s: \"%s\" does not contain \"%s\"", path, e.text, expected);
    free(expected);
}

static void good_files_are_read(void **state)
{
    (void)state;
    golden("ok", good_file);
}

static void bad_files_are_refused(void **state)
{
    (void)state;
    golden("bad", bad_file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts),
        cmocka_unit_test(refuses),
        cmocka_unit_test(refuses_nul_and_long_lines),
        cmocka_unit_test(finds_the_thread_a_fork_means),
        cmocka_unit_test(lenient_counts_and_keeps),
        cmocka_unit_test(counts_lines_of_each_kind),
        cmocka_unit_test(long_text_takes_two_threads),
        cmocka_unit_test(random_text_survives),
        cmocka_unit_test(renames_what_text_cannot_hold),
        cmocka_unit_test(good_files_are_read),
        cmocka_unit_test(bad_files_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
