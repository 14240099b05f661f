// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads the tables of rmw_table.h. They come from files that any process of the user may have written, so each
// property that the hooks rely on is checked here, or against the code itself when it is written to.
#include "base/rmw_table.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/pages.h"

#define LONGEST 15u // bytes of an instruction
#define RSP     4u
#define LARGEST ((off_t)64 << 20)

_Static_assert(sizeof(struct rb_rmw_row) == 56, "a row is 56 bytes on disk");
_Static_assert(sizeof(struct rb_rmw_header) == 72, "the header is 72 bytes on disk");

uint32_t rb_rmw_checksum(const struct rb_rmw_header *header)
{
    const uint32_t h = rb_checksum(0x52424d57u, header, offsetof(struct rb_rmw_header, checksum));

    return rb_checksum(h, header + 1, (size_t)header->rows * sizeof(struct rb_rmw_row));
}

// ---- rows ----------------------------------------------------------------------------------------------

static bool is_register(uint8_t number)
{
    return number < 16 || number == RB_RMW_NONE;
}

// Returns true if the operand in the bytes has the form that the row says: the part that is encoded anew.
static bool matches_code(const struct rb_rmw_row *r)
{
    const uint8_t mod = r->bytes[r->modrm] >> 6, low = r->bytes[r->modrm] & 7;

    if (mod == 3)
        return false;
    if (r->base == RB_RMW_RIP)
        return mod == 0 && low == 5 && r->modrm + 5u <= r->length;
    if (mod == 0 && low == 5)
        return false;
    if (r->base == RSP)
        return low == RSP && (r->bytes[r->modrm + 1] & 7) == RSP &&
               r->modrm + 2u + (mod == 2 ? 4u : mod) <= r->length;
    return true;
}

static const char *check_moves(const struct rb_rmw_row *r)
{
    unsigned end = r->length;

    if (r->moves > RB_RMW_MOVES)
        return "a row has too many instructions";
    for (unsigned i = 0; i < r->moves; i++) {
        const struct rb_rmw_move *m = &r->move[i];
        if (!m->length || m->length > LONGEST || m->kind >= RB_RMW_MOVE_KINDS)
            return "an instruction that moves is none";
        if (m->kind == RB_RMW_RELATIVE && m->at + 4u > m->length)
            return "an instruction that moves has no such distance";
        if (m->kind == RB_RMW_BRANCH && m->at + 1u != m->length && m->at + 4u != m->length)
            return "a branch that moves has no such distance";
        end += m->length;
    }
    return end == r->taken ? NULL : "instructions do not fill their row";
}

static const char *check_row(const struct rb_rmw_row *r)
{
    if (r->length < 2 || r->length > LONGEST || r->taken < r->length || r->taken > RB_RMW_BYTES ||
        r->offset > UINT32_MAX - RB_RMW_BYTES)
        return "a row has a length that instructions do not have";
    if (!r->size || r->size > 16 || r->size & (r->size - 1) || r->scale > 3)
        return "a row has an operand that instructions do not have";
    if (!(is_register(r->base) || r->base == RB_RMW_RIP) || !is_register(r->index) || r->index == RSP ||
        !is_register(r->bit) || r->bit == RSP || (r->base == RB_RMW_RIP && r->index != RB_RMW_NONE))
        return "a row has registers that operands do not have";
    if (r->modrm >= r->length || !matches_code(r))
        return "a row is not the one of its code";
    return check_moves(r);
}

static const char *check_rows(const struct rb_rmw_table *t)
{
    for (uint32_t i = 0; i < t->header->rows; i++) {
        const char *wrong = check_row(&t->row[i]);
        if (wrong)
            return wrong;
        if (i && t->row[i].offset < t->row[i - 1].offset + t->row[i - 1].taken)
            return "rows are not in order, or overlap";
    }
    return NULL;
}

const char *rb_rmw_table_check(struct rb_rmw_table *t, const void *data, size_t bytes, const uint8_t *id,
                               uint32_t id_bytes)
{
    const struct rb_rmw_header *h = t->header = data;

    if (bytes < sizeof(*h) || __builtin_memcmp(h->magic, RB_RMW_MAGIC, sizeof(h->magic)) != 0)
        return "not a table of atomic instructions";
    if (h->version != RB_RMW_VERSION || h->header_bytes != sizeof(*h))
        return "a table of another version";
    if (h->build_id_bytes > RB_RMW_ID_BYTES || !h->build_id_bytes)
        return "a build-id of no possible length";
    if (id_bytes > RB_RMW_ID_BYTES)
        id_bytes = RB_RMW_ID_BYTES;
    if (id_bytes && (h->build_id_bytes != id_bytes || __builtin_memcmp(h->build_id, id, id_bytes) != 0))
        return "the table of another file";
    if (h->file_bytes != bytes || (uint64_t)h->rows * sizeof(struct rb_rmw_row) + sizeof(*h) != bytes)
        return "cut off, or longer than it says";
    t->row = (const void *)(h + 1);
    if (rb_rmw_checksum(h) != h->checksum)
        return "damaged (checksum)";
    return check_rows(t);
}

// ---- files ---------------------------------------------------------------------------------------------

static const char *read_file(struct rb_rmw_table *t, int fd, size_t bytes)
{
    uint8_t *copy = rb_pages_map(bytes);
    size_t done = 0;

    if (!copy)
        return "no memory";
    t->mapped = bytes;
    t->header = (const void *)copy;
    while (done < bytes) {
        const long n = syscall(SYS_read, fd, copy + done, bytes - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return "cannot be read to its end";
        done += (size_t)n;
    }
    syscall(SYS_mprotect, copy, bytes, PROT_READ);
    return NULL;
}

static const char *open_file(struct rb_rmw_table *t, int fd, const uint8_t *id, uint32_t id_bytes)
{
    struct stat st;

    if (syscall(SYS_fstat, fd, &st) || !S_ISREG(st.st_mode))
        return "not a file";
    if (st.st_uid != 0 && st.st_uid != (uid_t)syscall(SYS_geteuid))
        return "the file of another user";
    if (st.st_mode & S_IWOTH)
        return "all users may write it";
    if (st.st_size < (off_t)sizeof(struct rb_rmw_header) || st.st_size > LARGEST)
        return "cut off, or too large";
    const char *wrong = read_file(t, fd, (size_t)st.st_size);
    return wrong ? wrong : rb_rmw_table_check(t, t->header, t->mapped, id, id_bytes);
}

const char *rb_rmw_table_open(struct rb_rmw_table *t, const char *path, const uint8_t *id, uint32_t id_bytes)
{
    const int saved = errno;

    *t = (struct rb_rmw_table){0};
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
    const bool gone = fd < 0 && (errno == ENOENT || errno == ENOTDIR);
    const char *wrong = gone ? "" : fd < 0 ? "cannot be opened" : open_file(t, fd, id, id_bytes);
    if (fd >= 0)
        syscall(SYS_close, fd);
    if (wrong)
        rb_rmw_table_close(t);
    errno = saved;
    return wrong;
}

void rb_rmw_table_close(struct rb_rmw_table *t)
{
    if (t->mapped)
        syscall(SYS_munmap, t->header, t->mapped);
    *t = (struct rb_rmw_table){0};
}
