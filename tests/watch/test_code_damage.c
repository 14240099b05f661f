// Damaged files: code tables, which the agent reads inside other people's programs, and ELF files, which the
// builder reads. Nothing may crash; what is refused says why; what is accepted can be used in every way.
//
// Tables are damaged twice: as they are, where the checksum must see it, and with the checksum made good
// again, where the checks of every row have to stand alone.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "watch/code_table/code_table_build.h"

#define TABLES  6000u
#define FILES   3000u
#define SECONDS 20

static uint64_t state = 42;
static unsigned failures;

static uint32_t below(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return n ? (uint32_t)(state >> 33) % n : 0;
}

#define CHECK(condition, ...)             \
    do {                                  \
        if (!(condition)) {               \
            failures++;                   \
            printf("FAIL: " __VA_ARGS__); \
            putchar('\n');                \
        }                                 \
    } while (0)

static void put(int fd, const void *data, size_t bytes)
{
    if (ftruncate(fd, 0) || pwrite(fd, data, bytes, 0) != (ssize_t)bytes) {
        puts("FAIL: no temporary file");
        exit(1);
    }
}

// Everything the agent does with a table, at offsets that are and are not in it.
static void use(const struct rb_code_table *t)
{
    static uint8_t watched[64];
    ucontext_t context;
    struct rb_code_touch touch;
    const struct rb_code_row *row;

    memset(&context, 0x41, sizeof(context));
    for (unsigned i = 0; i < 64; i++) {
        const uint32_t rows = t->header->rows;
        const uint32_t offset = rows && below(4) ? t->row[below(rows)].offset + below(16) : below(UINT32_MAX);
        unsigned n = rb_code_at(t, offset, &row);
        for (unsigned k = 0; k < n; k++)
            rb_code_touch_before(&row[k], offset, &context, &touch);
        n = rb_code_before(t, offset, &row);
        rb_code_touched(row, n, 0, &context, (uintptr_t)watched + 32, 8, &touch);
    }
    for (uint32_t i = 0; i < t->header->sites; i++)
        CHECK(t->row[t->site[i]].flags & RB_CODE_SITE, "a site is none");
}

static bool opens(const char *path)
{
    struct rb_code_table t;
    const char *wrong = rb_code_open(&t, path, NULL, 0);

    if (wrong) {
        CHECK(*wrong && !t.header, "a refused table says nothing, or stays open");
        return false;
    }
    use(&t);
    rb_code_close(&t);
    return true;
}

// ---- tables --------------------------------------------------------------------------------------------

static void damage(uint8_t *data, size_t bytes)
{
    for (unsigned n = 1 + below(3); n; n--) {
        uint8_t *at = &data[below(4) ? below((uint32_t)bytes) : below(sizeof(struct rb_code_header) + 64)];
        switch (below(4)) {
        case 0:
            *at ^= (uint8_t)(1u << below(8));
            break;
        case 1:
            *at = 0xff;
            break;
        case 2:
            *at = (uint8_t)below(256);
            break;
        default:
            *at = 0;
        }
    }
}

static void damage_tables(const struct rb_code_image *image, const char *path, int fd)
{
    const size_t bytes = (size_t)image->header->file_bytes;
    unsigned accepted = 0, same = 0;
    uint8_t *copy = malloc(bytes);

    for (unsigned i = 0; i < TABLES && copy; i++) {
        size_t length = bytes;
        memcpy(copy, image->header, bytes);
        damage(copy, bytes);
        struct rb_code_header *h = (void *)copy;
        const bool whole =
            (uint64_t)h->rows * sizeof(struct rb_code_row) + (uint64_t)h->sites * sizeof(uint32_t) <=
            bytes - sizeof(*h);
        const bool changed = memcmp(copy, image->header, offsetof(struct rb_code_header, checksum)) != 0 ||
                             memcmp(copy + sizeof(*h), image->header + 1, bytes - sizeof(*h)) != 0;
        if (i % 3 && whole)
            h->checksum = rb_code_checksum(h);
        else if (i % 16 == 0)
            length = below((uint32_t)bytes);
        put(fd, copy, length);
        const bool good = opens(path);
        accepted += good;
        same += !changed;
        CHECK(!good || !changed || i % 3, "a damaged table is accepted");
    }
    free(copy);
    printf("%u damaged tables: %u accepted, their checksum made good or nothing changed (%u)\n", TABLES,
           accepted, same);
}

// A table for other code, or cut at any place, is refused.
static void cut_table(const struct rb_code_image *image, const char *path, int fd)
{
    struct rb_code_table t;
    uint8_t other[RB_CODE_ID_BYTES];

    memcpy(other, image->header->build_id, sizeof(other));
    other[3] ^= 1;
    put(fd, image->header, (size_t)image->header->file_bytes);
    CHECK(opens(path), "a good table is refused");
    const char *wrong = rb_code_open(&t, path, other, image->header->build_id_bytes);
    CHECK(wrong && strstr(wrong, "another file"), "another file's table is accepted");
    for (uint32_t i = 0; i < 200; i++) {
        put(fd, image->header, i < 120 ? i : below((uint32_t)image->header->file_bytes));
        CHECK(!opens(path), "a cut table is accepted");
    }
    wrong = rb_code_open(&t, "/nonexistent/table", NULL, 0);
    CHECK(wrong && !*wrong, "a file that is not there is something else");
    wrong = rb_code_open(&t, "/dev/zero", NULL, 0);
    CHECK(wrong && *wrong, "a device is accepted");
}

// ---- ELF files -----------------------------------------------------------------------------------------

struct region {
    size_t at, bytes;
};

// Where damage tells: headers, and .eh_frame by its sections.
static unsigned find_regions(const uint8_t *data, size_t bytes, struct region *region)
{
    uint64_t phoff, shoff;
    uint16_t phnum, shnum;

    memcpy(&phoff, data + 32, 8);
    memcpy(&shoff, data + 40, 8);
    memcpy(&phnum, data + 56, 2);
    memcpy(&shnum, data + 60, 2);
    region[0] = (struct region){16, 48};
    region[1] = (struct region){phoff, phnum * 56u};
    region[2] = (struct region){shoff, shnum * 64u};
    region[3] = (struct region){0, bytes};
    unsigned count = 4;
    for (unsigned i = 0; i < shnum && count < 8 && shoff + shnum * 64u <= bytes; i++) {
        uint32_t type;
        uint64_t flags, at, size;
        memcpy(&type, data + shoff + i * 64 + 4, 4);
        memcpy(&flags, data + shoff + i * 64 + 8, 8);
        memcpy(&at, data + shoff + i * 64 + 24, 8);
        memcpy(&size, data + shoff + i * 64 + 32, 8);
        // read-only data (.eh_frame is among them), notes and symbols
        if (at <= bytes && size <= bytes - at && size &&
            (type == 7 || type == 2 || type == 0x70000001 || (type == 1 && flags == 2)))
            region[count++] = (struct region){at, size};
    }
    return count;
}

// The table of atomic instructions of a damaged file is a good one, or there is none.
static bool check_atomics(const char *path)
{
    static uint32_t tried; // an atomic instruction of this file
    struct rb_error e = {0};
    struct rb_rmw_table t;
    struct rb_rmw_header *h = rb_rmw_build(path, &e);

    rb_fetch_add_seq_cst(&tried, 1);
    if (!h)
        return false;
    const char *wrong = rb_rmw_table_check(&t, h, (size_t)h->file_bytes, NULL, 0);
    CHECK(!wrong, "the table of atomic instructions of a damaged file: %s", wrong);
    const bool any = h->rows > 0;
    free(h);
    return any;
}

static void damage_files(const char *own, const char *path, int fd, const char *table, int table_fd)
{
    struct region region[8];
    unsigned built = 0, refused = 0, rows = 0, atomics = 0;
    struct stat st;
    const int in = open(own, O_RDONLY);
    const time_t end = time(NULL) + SECONDS;

    if (in < 0 || fstat(in, &st)) {
        CHECK(false, "%s cannot be read", own);
        return;
    }
    const size_t bytes = (size_t)st.st_size;
    uint8_t *good = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, in, 0), *copy = malloc(bytes);
    const unsigned regions = find_regions(good, bytes, region);
    unsigned i = 0;
    for (; i < FILES && time(NULL) < end; i++) {
        struct rb_error e = {0};
        struct rb_code_image image;
        const struct region *r = &region[i % regions];
        size_t length = bytes;
        memcpy(copy, good, bytes);
        for (unsigned n = 1 + below(4); n; n--) {
            uint8_t *at = &copy[r->at + below((uint32_t)r->bytes)];
            *at = below(2) ? (uint8_t)below(256) : below(2) ? 0xff : (uint8_t)(*at ^ 1u << below(8));
        }
        if (i % 9 == 0)
            length = below((uint32_t)bytes);
        put(fd, copy, length);
        if (rb_code_build(path, &image, &e)) {
            refused++;
            CHECK(e.fault == RB_FAULT_INPUT && *e.text && !strchr(e.text, '\n'),
                  "refused without a word: '%s'", e.text);
        } else {
            built++;
            rows += image.header->rows > 0;
            put(table_fd, image.header, (size_t)image.header->file_bytes);
            CHECK(opens(table), "the table of a damaged file is not a good table");
        }
        rb_code_free(&image);
        atomics += check_atomics(path);
    }
    CHECK(i > 100 && built && refused && rows && atomics, "%u files, %u built, %u refused: nothing was tried",
          i, built, refused);
    printf("%u damaged ELF files: %u built, %u of these with rows, %u refused, %u with atomic instructions\n",
           i, built, rows, refused, atomics);
    munmap(good, bytes);
    free(copy);
    close(in);
}

int main(int argc, char **argv)
{
    char table[] = "/tmp/code-table-XXXXXX", elf[] = "/tmp/code-elf-XXXXXX";
    const int table_fd = mkstemp(table), elf_fd = mkstemp(elf);
    const char *own = argc > 1 ? argv[1] : "/proc/self/exe";
    struct rb_error e = {0};
    struct rb_code_image image;

    if (rb_code_build(own, &image, &e)) {
        printf("FAIL: %s\n", e.text);
        return 1;
    }
    cut_table(&image, table, table_fd);
    damage_tables(&image, table, table_fd);
    rb_code_free(&image);
    damage_files(own, elf, elf_fd, table, table_fd);
    unlink(table);
    unlink(elf);
    return failures ? 1 : 0;
}
