// Any bytes as a trace file: opening, all pages, all names and the export to text must end with a result or a
// message, never otherwise.
//
// The first byte says how the rest becomes a file, so that the fuzzer gets behind the checksums:
//   bit 0   the rest is compact: 848 bytes of header, then pages as two bytes of length and that many bytes
//   bit 1   page marks and checksums are put right
//   bit 2   the header's magic, version and checksum are put right
//   bit 3   the table offsets and checksums are put right too
#define _GNU_SOURCE 1
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace/reader.h"
#include "trace/std/std.h"

enum { MOST = 1 << 20 };

static size_t unfold(const uint8_t *data, size_t size, unsigned char *file)
{
    const size_t head = size < 848 ? size : 848;
    size_t at = RBT_PAGE_BYTES;

    memcpy(file, data, head);
    for (size_t i = head; i + 2 <= size && at + 2 * RBT_PAGE_BYTES < MOST;) {
        size_t length = (size_t)(data[i] | data[i + 1] << 8) % (RBT_PAGE_BYTES + 1);
        i += 2;
        if (length > size - i)
            length = size - i;
        memcpy(file + at, data + i, length);
        i += length;
        at += i < size ? RBT_PAGE_BYTES : (length + 7) & ~(size_t)7; // what comes last may be tables
    }
    return at;
}

static void fix_pages(unsigned char *file, size_t size)
{
    for (size_t i = 0; (i + 2) * RBT_PAGE_BYTES <= size; i++) {
        uint64_t *page = (uint64_t *)(void *)(file + (i + 1) * RBT_PAGE_BYTES);
        struct rbt_page_head head;
        memcpy(&head, page, sizeof(head));
        head.magic = RBT_PAGE_MAGIC;
        head.sum = rb_sum(page + 2, 510, i + 1);
        memcpy(page, &head, sizeof(head));
    }
}

static void fix_tables(unsigned char *file, size_t size)
{
    struct rbt_header h;

    memcpy(&h, file, sizeof(h));
    if (h.events > 100000 || (h.record_bytes != 8 && h.record_bytes != 16))
        return;
    const uint64_t per_page = rb_records_per_page(h.record_bytes);
    uint64_t at = ((h.events + per_page - 1) / per_page + 1) * RBT_PAGE_BYTES;
    for (int t = 0; t < RBT_TABLES && at < size; t++) {
        struct rbt_table_head *table = &h.table[t];
        if (table->bytes == 0 || table->bytes > size - at)
            continue;
        table->offset = at;
        table->sum = rb_sum((const uint64_t *)(const void *)(file + at), (table->bytes + 7) / 8, 0);
        at += (table->bytes + 7) & ~UINT64_C(7);
    }
    if (h.aliases_count > 0 && at < size && h.aliases_count <= (size - at) / 8) {
        h.aliases_offset = at;
        h.aliases_sum = rb_sum((const uint64_t *)(const void *)(file + at), h.aliases_count, 0);
    }
    memcpy(file, &h, sizeof(h));
}

static void fix_header(unsigned char *file)
{
    struct rbt_header h;

    memcpy(&h, file, sizeof(h));
    memcpy(h.magic, RBT_MAGIC, 8);
    h.version = RBT_VERSION;
    h.header_sum = rb_sum((const uint64_t *)&h, offsetof(struct rbt_header, header_sum) / 8, 0);
    memcpy(file, &h, sizeof(h));
}

static void walk(int fd)
{
    struct rb_error e = {0};
    struct rb_reader r;
    struct rb_page page;
    uint64_t foreign, renamed;

    if (rb_reader_open_fd(&r, fd, "fuzz", &e) < 0) {
        if (e.fault == RB_FAULT_NONE)
            abort();
        return;
    }
    bool good = true;
    for (uint64_t i = 0; i < r.pages && good; i++)
        good = rb_reader_page(&r, i, (uint32_t)i % 3, &page, &e) == 0;
    if (rb_reader_load_names(&r, &e) == 0) {
        char scratch[32];
        for (int t = 0; t < RBT_TABLES; t++)
            for (uint64_t id = 0; id < 50 && id < rb_reader_count(&r, (enum rbt_table)t); id++)
                if (!rb_reader_name(&r, (enum rbt_table)t, id, scratch))
                    abort();
        FILE *out = fopen("/dev/null", "w");
        if (out) {
            rb_std_export(&r, out, &foreign, &renamed, &e);
            fclose(out);
        }
    }
    rb_reader_close(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size); // libFuzzer has no header for it

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1 || size > MOST - 4 * RBT_PAGE_BYTES)
        return 0;
    unsigned char *file = calloc(1, MOST);
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (!file || fd < 0)
        abort();
    const unsigned how = data[0];
    size_t bytes = size - 1;
    if (how & 1)
        bytes = unfold(data + 1, size - 1, file);
    else
        memcpy(file, data + 1, bytes);
    if (how & 2)
        fix_pages(file, bytes);
    if (how & 8)
        fix_tables(file, bytes);
    if ((how & 4) && bytes >= sizeof(struct rbt_header))
        fix_header(file);
    if (write(fd, file, bytes) != (ssize_t)bytes)
        abort();
    free(file);
    walk(fd);
    return 0;
}
