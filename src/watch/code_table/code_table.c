// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The agent's side of code tables: opens, searches, and finds the memory that an instruction touches, from
// its row and the registers. libc alone; everything but open and close is for signal handlers.
//
// Invariant: rows come from a file that any process may have written. rb_code_open() copies the file, so
// that the checked bytes are the bytes in use. It refuses everything that the rest of this file relies on:
// rows in order, at most two for an instruction, registers that exist, sites that are rows.
//
// After a data breakpoint the registers are those after the instruction. Most address registers are
// unchanged. Registers that moved by a known amount (push, pop, string operations) are moved back. A
// register may be overwritten by the loaded value (`mov (%rax),%rax`). Then the addresses from which the
// instruction can reach the watched bytes are searched: only one may hold the register's value now. Other
// cases are not exact.
#include "watch/code_table/code_table.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/types.h"

#define PAGE         4096u
#define RSP          4u
#define RCX          1u
#define RSI          6u
#define RDI          7u
#define DIRECTION    0x400 // of eflags
#define LONGEST      15u   // bytes of an instruction
#define MOST_BYTES   64u   // of one operand
#define MOST_ROWS_AT 2u
#define GROUP        64u // bytes of a repeating instruction that may be done before its trap comes

_Static_assert(sizeof(struct rb_code_row) == 16, "a row is 16 bytes on disk");
_Static_assert(sizeof(struct rb_code_header) == 88, "the header is 88 bytes on disk");

// ---- opening -------------------------------------------------------------------------------------------

uint32_t rb_code_checksum(const struct rb_code_header *header)
{
    const uint32_t h = rb_checksum(0x52424344u, header, offsetof(struct rb_code_header, checksum));

    return rb_checksum(h, header + 1,
                       (size_t)header->rows * sizeof(struct rb_code_row) +
                           (size_t)header->sites * sizeof(uint32_t));
}

static bool is_register(uint8_t number)
{
    return number < 16 || number == RB_CODE_NONE;
}

static const char *check_row(const struct rb_code_row *r)
{
    if (!r->length || r->length > LONGEST || r->offset > UINT32_MAX - LONGEST)
        return "an instruction has no length that instructions have";
    if (!(r->flags & (RB_CODE_READ | RB_CODE_WRITE)))
        return "a row neither reads nor writes";
    if (!r->size || r->size > MOST_BYTES)
        return "a row has a size that operands do not have";
    if (!(is_register(r->base) || r->base == RB_CODE_RIP) || !is_register(r->index) || r->index == RSP ||
        (r->scale_segment & ~(3u | RB_CODE_FS | RB_CODE_GS)) ||
        (r->scale_segment & (RB_CODE_FS | RB_CODE_GS)) == (RB_CODE_FS | RB_CODE_GS))
        return "a row has an address that instructions cannot have";
    return NULL;
}

static const char *check_rows(const struct rb_code_table *t)
{
    const uint32_t rows = t->header->rows;
    uint32_t same = 0;

    for (uint32_t i = 0; i < rows; i++) {
        const char *wrong = check_row(&t->row[i]);
        if (wrong)
            return wrong;
        if (!i)
            continue;
        if (t->row[i].offset < t->row[i - 1].offset)
            return "rows are not in order";
        same = t->row[i].offset == t->row[i - 1].offset ? same + 1 : 0;
        if (same >= MOST_ROWS_AT || (same && t->row[i].length != t->row[i - 1].length))
            return "an instruction has too many rows, or two lengths";
    }
    for (uint32_t i = 0; i < t->header->sites; i++) {
        if (t->site[i] >= rows || !(t->row[t->site[i]].flags & RB_CODE_SITE))
            return "a site is no row that may be one";
        if (i && t->site[i] <= t->site[i - 1])
            return "sites are not in order";
    }
    return NULL;
}

static const char *check_table(struct rb_code_table *t, size_t bytes, const uint8_t *id, uint32_t id_bytes)
{
    const struct rb_code_header *h = t->header;

    if (memcmp(h->magic, RB_CODE_MAGIC, sizeof(h->magic)) != 0)
        return "not a code table";
    if (h->version != RB_CODE_VERSION || h->header_bytes != sizeof(*h))
        return "a code table of another version";
    if (h->build_id_bytes > RB_CODE_ID_BYTES || !h->build_id_bytes)
        return "a build-id of no possible length";
    if (id_bytes > RB_CODE_ID_BYTES)
        id_bytes = RB_CODE_ID_BYTES;
    if (id_bytes && (h->build_id_bytes != id_bytes || memcmp(h->build_id, id, id_bytes) != 0))
        return "the code table of another file";
    if (h->file_bytes != bytes ||
        (uint64_t)h->rows * sizeof(struct rb_code_row) + (uint64_t)h->sites * sizeof(uint32_t) + sizeof(*h) !=
            bytes)
        return "cut off, or longer than it says";
    t->row = (const void *)(h + 1);
    t->site = (const void *)(t->row + h->rows);
    if (rb_code_checksum(h) != h->checksum)
        return "damaged (checksum)";
    return check_rows(t);
}

// Reads the file into memory of our own: a mapped file could change, or end, meanwhile.
static const char *read_all(struct rb_code_table *t, int fd, size_t bytes)
{
    size_t done = 0;
    uint8_t *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (copy == MAP_FAILED)
        return "no memory";
    t->mapped = bytes;
    t->header = (const void *)copy;
    while (done < bytes) {
        const ssize_t n = read(fd, copy + done, bytes - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return "cannot be read to its end";
        done += (size_t)n;
    }
    mprotect(copy, bytes, PROT_READ);
    return NULL;
}

const char *rb_code_open(struct rb_code_table *t, const char *path, const uint8_t *build_id, uint32_t bytes)
{
    const int saved = errno;
    struct stat st;
    const char *wrong;

    *t = (struct rb_code_table){0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        wrong = errno == ENOENT || errno == ENOTDIR ? "" : "cannot be opened";
        errno = saved;
        return wrong;
    }
    if (fstat(fd, &st) || !S_ISREG(st.st_mode))
        wrong = "not a file";
    else if (st.st_size < (off_t)sizeof(struct rb_code_header) || st.st_size > (off_t)1 << 32)
        wrong = "cut off, or too large";
    else if (!(wrong = read_all(t, fd, (size_t)st.st_size)))
        wrong = check_table(t, t->mapped, build_id, bytes);
    close(fd);
    if (wrong)
        rb_code_close(t);
    errno = saved;
    return wrong;
}

void rb_code_close(struct rb_code_table *t)
{
    if (t->header)
        munmap((void *)(uintptr_t)t->header, t->mapped);
    *t = (struct rb_code_table){0};
}

// ---- searching -----------------------------------------------------------------------------------------

// Returns the first row at an offset or after it.
static uint32_t lower_bound(const struct rb_code_table *t, uint32_t offset)
{
    uint32_t low = 0, high = t->header->rows;

    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (t->row[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static unsigned count_at(const struct rb_code_table *t, uint32_t first)
{
    uint32_t end = first;

    while (end < t->header->rows && t->row[end].offset == t->row[first].offset)
        end++;
    return end - first;
}

unsigned rb_code_at(const struct rb_code_table *t, uint32_t offset, const struct rb_code_row **row)
{
    const uint32_t first = lower_bound(t, offset);

    *row = &t->row[first];
    return first < t->header->rows && t->row[first].offset == offset ? count_at(t, first) : 0;
}

// Returns true if the address depends on a register that a string operation moves.
static bool hangs_on_moved(const struct rb_code_row *r)
{
    const uint8_t moved[] = {RCX, RSI, RDI};

    for (unsigned i = 0; i < sizeof(moved); i++)
        if (r->base == moved[i] || r->index == moved[i])
            return true;
    return false;
}

unsigned rb_code_before(const struct rb_code_table *t, uint32_t offset, const struct rb_code_row **row)
{
    const uint32_t rows = t->header->rows;
    uint32_t at = lower_bound(t, offset > LONGEST ? offset - LONGEST : 0), first = rows;
    unsigned found = 0;

    for (; at < rows && t->row[at].offset < offset; at += count_at(t, at)) {
        if (t->row[at].offset + t->row[at].length != offset || t->row[at].flags & RB_CODE_BRANCH)
            continue;
        if (found)
            return 0;
        first = at;
        found = count_at(t, at);
    }
    if (at < rows && t->row[at].offset == offset && t->row[at].flags & RB_CODE_REP) {
        for (unsigned i = 0; i < found; i++)
            if (hangs_on_moved(&t->row[first + i]))
                return 0;
        first = found ? first : at;
        found += count_at(t, at);
    }
    *row = &t->row[first];
    return found;
}

// ---- accesses ------------------------------------------------------------------------------------------

static uintptr_t value_of(const ucontext_t *context, unsigned number)
{
    static const uint8_t gregs[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                      REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

    return (uintptr_t)context->uc_mcontext.gregs[gregs[number & 15]];
}

static bool goes_down(const ucontext_t *context)
{
    return context->uc_mcontext.gregs[REG_EFL] & DIRECTION;
}

// Computes the address from the registers as they are. Returns false for gs: its base is not known.
static bool address_of(const struct rb_code_row *row, uintptr_t start, const ucontext_t *context,
                       uintptr_t *address)
{
    uintptr_t a = (uintptr_t)(intptr_t)row->displacement;

    if (row->base == RB_CODE_RIP)
        a += start + row->length;
    else if (row->base != RB_CODE_NONE)
        a += value_of(context, row->base);
    if (row->index != RB_CODE_NONE)
        a += value_of(context, row->index) << (row->scale_segment & 3);
    if (row->scale_segment & RB_CODE_FS)
        a += (uintptr_t)__builtin_thread_pointer();
    *address = a;
    return !(row->scale_segment & RB_CODE_GS);
}

void rb_code_touch_before(const struct rb_code_row *row, uintptr_t start, const ucontext_t *context,
                          struct rb_code_touch *touch)
{
    uintptr_t address;
    const bool known = address_of(row, start, context, &address);
    uint64_t size = row->size;

    if (row->flags & RB_CODE_REP) {
        const uint64_t turns = value_of(context, RCX), most = UINT32_MAX / row->size;
        size = row->size * (turns < most ? turns : most);
        if (goes_down(context) && size)
            address -= (uintptr_t)(size - row->size);
    }
    if (row->flags & RB_CODE_SPREAD)
        size = 0;
    *touch = (struct rb_code_touch){.address = address,
                                    .size = (uint32_t)size,
                                    .reads = row->flags & RB_CODE_READ,
                                    .writes = row->flags & RB_CODE_WRITE,
                                    .exact = known && !(row->flags & (RB_CODE_MASKED | RB_CODE_SPREAD))};
}

// Finds the one address that holds the value of a register that was loaded from there. Only pages with
// watched bytes are read, because others may be unmapped.
static bool find_lost(const struct rb_code_row *row, const ucontext_t *context, uintptr_t watched,
                      unsigned bytes, uintptr_t *address)
{
    const bool index = row->flags & RB_CODE_LOST_INDEX;
    const uintptr_t value = value_of(context, index ? row->index : row->base);
    const uintptr_t low = watched & ~(uintptr_t)(PAGE - 1), high = ((watched + bytes - 1) | (PAGE - 1)) + 1;
    const unsigned scale = 1u << (row->scale_segment & 3);
    uintptr_t known = (uintptr_t)(intptr_t)row->displacement;
    unsigned found = 0;

    if (!(row->flags & RB_CODE_LOADED) || row->size > sizeof(value) || row->scale_segment & ~3u)
        return false;
    if (index && row->base != RB_CODE_NONE)
        known += value_of(context, row->base);
    for (uintptr_t a = watched - row->size + 1; a < watched + bytes; a++) {
        if (index && row->base != row->index && (a - known) % scale)
            continue; // no index gives this address
        if (a < low || a + row->size > high)
            return false;
        if (memcmp((const void *)a, &value, row->size) == 0) {
            *address = a;
            found++;
        }
    }
    return found == 1;
}

// Returns true if an earlier turn of a repeating instruction may have been it: processors do several at
// once.
static bool is_shortly_before(const struct rb_code_row *row, const ucontext_t *context, uintptr_t address,
                              uintptr_t watched)
{
    return goes_down(context) ? watched - (address + row->size) < GROUP : address - 1 - watched < GROUP;
}

bool rb_code_touch_after(const struct rb_code_row *row, uintptr_t start, const ucontext_t *context,
                         uintptr_t watched, unsigned bytes, struct rb_code_touch *touch)
{
    uintptr_t address;

    *touch = (struct rb_code_touch){.address = watched,
                                    .size = bytes,
                                    .reads = row->flags & RB_CODE_READ,
                                    .writes = row->flags & RB_CODE_WRITE,
                                    .exact = false};
    if (!address_of(row, start, context, &address) || row->flags & RB_CODE_SPREAD)
        return true;
    if (row->flags & RB_CODE_LOST) {
        if (!find_lost(row, context, watched, bytes, &address))
            return true;
    } else if (row->flags & RB_CODE_STRING) {
        address += goes_down(context) ? row->size : -(uintptr_t)row->size;
    } else if (row->flags & (RB_CODE_DOWN | RB_CODE_UP) && row->base == RSP) {
        address += row->flags & RB_CODE_DOWN ? row->size : -(uintptr_t)row->size;
    }
    if (address >= watched + bytes || watched >= address + row->size)
        return row->flags & RB_CODE_REP && is_shortly_before(row, context, address, watched);
    if (row->flags & RB_CODE_MASKED && !(row->flags & RB_CODE_REP))
        return true;
    touch->address = address;
    touch->size = row->size;
    touch->exact = true;
    return true;
}

const struct rb_code_row *rb_code_touched(const struct rb_code_row *rows, unsigned count, uintptr_t bias,
                                          const ucontext_t *context, uintptr_t watched, unsigned bytes,
                                          struct rb_code_touch *touch)
{
    const struct rb_code_row *found = NULL;
    struct rb_code_touch t;

    for (unsigned i = 0; i < count; i++) {
        if (!rb_code_touch_after(&rows[i], bias + rows[i].offset, context, watched, bytes, &t) ||
            (found && !t.exact))
            continue;
        found = &rows[i];
        *touch = t;
        if (t.exact)
            break;
    }
    return found;
}

// ---- names of files without a build-id -----------------------------------------------------------------

void rb_code_hash(const uint8_t *data, size_t bytes, uint8_t id[RB_CODE_ID_BYTES])
{
    uint64_t lane[2] = {0x243f6a8885a308d3u ^ bytes, 0x13198a2e03707344u}, word;
    uint32_t last = 0;

    for (size_t i = 0; i < bytes; i += sizeof(word)) {
        word = 0;
        memcpy(&word, data + i, bytes - i < sizeof(word) ? bytes - i : sizeof(word));
        lane[0] = (lane[0] ^ word) * RB_GOLDEN;
        lane[0] ^= lane[0] >> 29;
        lane[1] = (lane[1] + (word ^ lane[0] >> 7)) * 0xd6e8feb86659fd93u;
        lane[1] ^= lane[1] >> 32;
        last = (last ^ (uint32_t)(word >> 32)) * 0x01000193u + (uint32_t)word;
    }
    memcpy(id, lane, sizeof(lane));
    memcpy(id + sizeof(lane), &last, sizeof(last));
}
