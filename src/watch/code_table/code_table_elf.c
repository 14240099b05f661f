// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "watch/code_table/code_table_elf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NT_BUILD_ID_TYPE 3u
#define SHT_UNWIND       0x70000001u // SHT_X86_64_UNWIND
#define SHT_RELR_TYPE    19u
#define NEWEST_GCC       15 // the next may fold volatile accesses, and it treats atomics as such
#define NEWEST_CLANG     19

// Returns bytes of the file, or NULL if they are not all in it.
static const uint8_t *bytes_at(const struct rb_code_file *f, uint64_t offset, uint64_t bytes)
{
    return offset <= f->bytes && bytes <= f->bytes - offset ? f->data + offset : NULL;
}

// Copies `count` entries of at least `least` bytes each: those in the file need not be aligned.
static void *copy_table(const struct rb_code_file *f, uint64_t offset, uint64_t count, uint64_t each,
                        uint64_t least)
{
    const uint8_t *from = each == least && count ? bytes_at(f, offset, count * each) : NULL;
    void *copy = from ? malloc((size_t)(count * each)) : NULL;

    if (copy)
        memcpy(copy, from, (size_t)(count * each));
    return copy;
}

// ---- the file ------------------------------------------------------------------------------------------

static int map_file(struct rb_code_file *f, struct rb_error *e)
{
    struct stat st;
    const int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return rb_bad_input(e, "%s: %s", f->path, strerror(errno));
    if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
        close(fd);
        return rb_bad_input(e, "%s: expected a file", f->path);
    }
    void *data = st.st_size ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    close(fd);
    if (data == MAP_FAILED)
        return rb_bad_input(e, "%s: expected an ELF file", f->path);
    f->data = data;
    f->bytes = (size_t)st.st_size;
    return 0;
}

static bool is_ours(const Elf64_Ehdr *h)
{
    return h->e_ident[EI_CLASS] == ELFCLASS64 && h->e_ident[EI_DATA] == ELFDATA2LSB &&
           h->e_machine == EM_X86_64;
}

// Finds the build-id in a piece of notes; a longer one than ours is cut.
static bool find_id(struct rb_code_file *f, uint64_t offset, uint64_t bytes)
{
    const uint8_t *at = bytes_at(f, offset, bytes), *end = at ? at + bytes : NULL;
    Elf64_Nhdr n;

    while (at && (size_t)(end - at) >= sizeof(n)) {
        memcpy(&n, at, sizeof(n));
        at += sizeof(n);
        const uint64_t name = ((uint64_t)n.n_namesz + 3) & ~3ull, data = ((uint64_t)n.n_descsz + 3) & ~3ull;
        if (name + data > (uint64_t)(end - at))
            return false;
        if (n.n_type == NT_BUILD_ID_TYPE && n.n_namesz == 4 && !memcmp(at, "GNU", 4) && n.n_descsz) {
            f->id_bytes = n.n_descsz < RB_CODE_ID_BYTES ? n.n_descsz : RB_CODE_ID_BYTES;
            memcpy(f->id, at + name, f->id_bytes);
            return true;
        }
        at += name + data;
    }
    return false;
}

static void identify_file(struct rb_code_file *f)
{
    for (size_t i = 0; i < f->segments; i++)
        if (f->segment[i].p_type == PT_NOTE && find_id(f, f->segment[i].p_offset, f->segment[i].p_filesz))
            return;
    for (size_t i = 0; i < f->sections; i++)
        if (f->section[i].sh_type == SHT_NOTE && find_id(f, f->section[i].sh_offset, f->section[i].sh_size))
            return;
    f->id_is_hash = true;
    f->id_bytes = RB_CODE_ID_BYTES;
    rb_code_hash(f->data, f->bytes, f->id);
}

int rb_code_file_open(struct rb_code_file *f, const char *path, struct rb_error *e)
{
    *f = (struct rb_code_file){.path = path};
    const int failed = map_file(f, e);

    if (failed)
        return failed;
    const Elf64_Ehdr *h = (const void *)f->data;
    if (f->bytes < sizeof(*h) || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
        return rb_bad_input(e, "%s: expected an ELF file", path);
    if (!is_ours(h))
        return rb_bad_input(e, "%s: expected an ELF file for x86-64", path);
    if (h->e_type != ET_EXEC && h->e_type != ET_DYN)
        return rb_bad_input(e, "%s: expected an executable or a shared object", path);
    f->header = h;
    f->segment = copy_table(f, h->e_phoff, h->e_phnum, h->e_phentsize, sizeof(*f->segment));
    if (!f->segment)
        return rb_bad_input(e, "%s: the ELF file has no readable program headers", path);
    f->segments = h->e_phnum;
    f->section = copy_table(f, h->e_shoff, h->e_shnum, h->e_shentsize, sizeof(*f->section));
    f->sections = f->section ? h->e_shnum : 0;
    identify_file(f);
    return 0;
}

void rb_code_file_close(struct rb_code_file *f)
{
    if (f->data)
        munmap((void *)(uintptr_t)f->data, f->bytes);
    free(f->segment);
    free(f->section);
    free(f->range);
    free(f->start);
    *f = (struct rb_code_file){0};
}

// ---- addresses -----------------------------------------------------------------------------------------

static const Elf64_Phdr *segment_of(const struct rb_code_file *f, uint64_t address)
{
    for (size_t i = 0; i < f->segments; i++)
        if (f->segment[i].p_type == PT_LOAD && address - f->segment[i].p_vaddr < f->segment[i].p_memsz)
            return &f->segment[i];
    return NULL;
}

const uint8_t *rb_code_file_code(const struct rb_code_file *f, uint64_t start, uint64_t end)
{
    const Elf64_Phdr *s = segment_of(f, start);

    if (!s || !(s->p_flags & PF_X) || end <= start || start - s->p_vaddr > s->p_filesz ||
        end - start > s->p_filesz - (start - s->p_vaddr) || start - s->p_vaddr > UINT64_MAX - s->p_offset)
        return NULL;
    return bytes_at(f, s->p_offset + (start - s->p_vaddr), end - start);
}

const uint8_t *rb_code_file_bytes(const struct rb_code_file *f, uint64_t address, size_t *bytes)
{
    const Elf64_Phdr *s = segment_of(f, address);

    if (!s || address - s->p_vaddr >= s->p_filesz || address - s->p_vaddr > UINT64_MAX - s->p_offset)
        return NULL;
    *bytes = (size_t)(s->p_filesz - (address - s->p_vaddr));
    return bytes_at(f, s->p_offset + (address - s->p_vaddr), *bytes);
}

bool rb_code_file_read_only(const struct rb_code_file *f, uint64_t address)
{
    const Elf64_Phdr *s = segment_of(f, address);

    if (!s)
        return false;
    if (!(s->p_flags & PF_W))
        return true;
    for (size_t i = 0; i < f->segments; i++)
        if (f->segment[i].p_type == PT_GNU_RELRO && address - f->segment[i].p_vaddr < f->segment[i].p_memsz)
            return true;
    return false;
}

// ---- sections ------------------------------------------------------------------------------------------

static const char *name_of(const struct rb_code_file *f, const Elf64_Shdr *s)
{
    if (f->header->e_shstrndx >= f->sections)
        return "";
    const Elf64_Shdr *names = &f->section[f->header->e_shstrndx];
    const char *text = (const char *)bytes_at(f, names->sh_offset, names->sh_size);

    if (!text || s->sh_name >= names->sh_size || !memchr(text + s->sh_name, 0, names->sh_size - s->sh_name))
        return "";
    return text + s->sh_name;
}

// Parses "GCC: (Debian 12.2.0-14) 12.2.0": returns the number after the parenthesis, 0 for another format.
static int gcc_version(const char *text)
{
    const char *close = strrchr(text, ')');

    return close && close[1] == ' ' ? atoi(close + 2) : 0;
}

// Recognises the words of one compiler. Linkers sign too, and make no code.
static unsigned producer_of(const char *text)
{
    static const char by_clang[] = "clang version ";
    const char *clang = strstr(text, by_clang);
    const int gcc = strncmp(text, "GCC: ", 5) ? 0 : gcc_version(text);

    if (!strncmp(text, "Linker: ", 8) || !strncmp(text, "mold ", 5))
        return 0;
    if (gcc > 0 && gcc <= NEWEST_GCC)
        return RB_CODE_BY_GCC;
    const int version = clang ? atoi(clang + sizeof(by_clang) - 1) : 0;
    return version > 0 && version <= NEWEST_CLANG ? RB_CODE_BY_CLANG : RB_CODE_BY_UNKNOWN;
}

static void read_comment(struct rb_code_file *f, const Elf64_Shdr *s)
{
    const char *at = (const char *)bytes_at(f, s->sh_offset, s->sh_size), *end = at ? at + s->sh_size : NULL;

    while (at && at < end) {
        const char *nul = memchr(at, 0, (size_t)(end - at));
        if (!nul) {
            f->producers |= RB_CODE_BY_UNKNOWN;
            return;
        }
        if (*at)
            f->producers |= producer_of(at);
        at = nul + 1;
    }
}

// Finds .eh_frame without sections, by its header, which the unwinder uses.
static int read_frames_by_segment(struct rb_code_file *f, struct rb_error *e)
{
    for (size_t i = 0; i < f->segments; i++) {
        const Elf64_Phdr *p = &f->segment[i];
        const uint8_t *h =
            p->p_type == PT_GNU_EH_FRAME && p->p_filesz >= 8 ? bytes_at(f, p->p_offset, 8) : NULL;
        int32_t distance;
        if (!h || h[0] != 1 || h[1] != 0x1b) // version 1; relative to its place, 4 bytes
            continue;
        memcpy(&distance, h + 4, sizeof(distance));
        const uint64_t address = p->p_vaddr + 4 + (uint64_t)(int64_t)distance;
        const Elf64_Phdr *s = segment_of(f, address);
        if (!s || address - s->p_vaddr >= s->p_filesz)
            continue;
        const uint64_t into = address - s->p_vaddr, bytes = s->p_filesz - into;
        const uint8_t *data =
            s->p_offset <= UINT64_MAX - into ? bytes_at(f, s->p_offset + into, bytes) : NULL;
        if (data)
            return rb_code_frames(f, data, (size_t)bytes, address, e);
    }
    return 0;
}

static int read_frames(struct rb_code_file *f, struct rb_error *e)
{
    bool found = false;

    for (size_t i = 0; i < f->sections; i++) {
        const Elf64_Shdr *s = &f->section[i];
        if (s->sh_type != SHT_UNWIND &&
            (s->sh_type != SHT_PROGBITS || strcmp(name_of(f, s), ".eh_frame") != 0))
            continue;
        const uint8_t *data = bytes_at(f, s->sh_offset, s->sh_size);
        found = true;
        if (data) {
            const int failed = rb_code_frames(f, data, (size_t)s->sh_size, s->sh_addr, e);
            if (failed)
                return failed;
        }
    }
    return found ? 0 : read_frames_by_segment(f, e);
}

static int by_start(const void *a, const void *b)
{
    const struct rb_code_range *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->end < y->end ? -1 : x->end > y->end;
}

// Sorts the ranges. Equal ranges become one; ranges that overlap are removed.
static void tidy_ranges(struct rb_code_file *f)
{
    size_t kept = 0;
    uint64_t reach = 0;

    if (f->ranges)
        qsort(f->range, f->ranges, sizeof(*f->range), by_start);
    for (size_t i = 0; i < f->ranges;) {
        struct rb_code_range r = f->range[i];
        size_t next = i + 1;
        bool overlaps = r.start < reach;
        for (; next < f->ranges && f->range[next].start < r.end; next++) {
            r.frame_pointer |= f->range[next].frame_pointer;
            r.lands_anywhere |= f->range[next].lands_anywhere;
            overlaps |= f->range[next].start != r.start || f->range[next].end != r.end;
        }
        next = overlaps ? i + 1 : next;
        const uint64_t from = r.start > reach ? r.start : reach;
        if (overlaps && r.end > from)
            f->overlap_bytes += r.end - from;
        reach = r.end > reach ? r.end : reach;
        if (!overlaps)
            f->range[kept++] = r;
        i = next;
    }
    f->ranges = kept;
}

// ---- symbols and relocations ---------------------------------------------------------------------------

// Returns the entries of a section of symbols or relocations, if it is one and in the file.
static uint64_t entries_of(const struct rb_code_file *f, const Elf64_Shdr *s, const uint8_t **data)
{
    const bool symbols = s->sh_type == SHT_SYMTAB || s->sh_type == SHT_DYNSYM;

    *data = symbols || s->sh_type == SHT_RELA ? bytes_at(f, s->sh_offset, s->sh_size) : NULL;
    return !*data ? 0 : s->sh_size / (symbols ? sizeof(Elf64_Sym) : sizeof(Elf64_Rela));
}

bool rb_code_file_add_start(struct rb_code_file *f, uint64_t address)
{
    if (f->starts == f->start_room) {
        const size_t want = f->start_room ? 2 * f->start_room : 1024;
        uint64_t *more = f->starts < 8 * f->bytes ? realloc(f->start, want * sizeof(*more)) : NULL;
        if (!more)
            return false;
        f->start = more;
        f->start_room = want;
    }
    f->start[f->starts++] = address;
    return true;
}

static bool read_start(struct rb_code_file *f, bool relocation, const uint8_t *data, uint64_t number)
{
    if (relocation) {
        Elf64_Rela r;
        memcpy(&r, data + number * sizeof(r), sizeof(r));
        return (ELF64_R_TYPE(r.r_info) != R_X86_64_RELATIVE &&
                ELF64_R_TYPE(r.r_info) != R_X86_64_IRELATIVE) ||
               rb_code_file_add_start(f, (uint64_t)r.r_addend);
    }
    Elf64_Sym symbol;
    memcpy(&symbol, data + number * sizeof(symbol), sizeof(symbol));
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    return (type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF ||
           rb_code_file_add_start(f, symbol.st_value);
}

// Adds the address in a word that a packed relocation moves.
static bool read_packed_word(struct rb_code_file *f, uint64_t place)
{
    size_t bytes = 0;
    const uint8_t *at = rb_code_file_bytes(f, place, &bytes);
    uint64_t address;

    if (!at || bytes < sizeof(address))
        return true;
    memcpy(&address, at, sizeof(address));
    return rb_code_file_add_start(f, address);
}

// Reads packed relative relocations: an even word is a place; the bits of an odd one stand for the 63 words
// that follow (ELF gABI, SHT_RELR).
static bool read_packed(struct rb_code_file *f, const Elf64_Shdr *s)
{
    const uint8_t *data = s->sh_type == SHT_RELR_TYPE ? bytes_at(f, s->sh_offset, s->sh_size) : NULL;
    const uint64_t words = data ? s->sh_size / 8 : 0;
    uint64_t next = 0;

    for (uint64_t i = 0; i < words; i++) {
        uint64_t word;
        memcpy(&word, data + 8 * i, sizeof(word));
        if (!(word & 1)) {
            if (!read_packed_word(f, word))
                return false;
            next = word + 8;
            continue;
        }
        for (unsigned bit = 1; bit < 64; bit++)
            if (word >> bit & 1 && !read_packed_word(f, next + 8 * (bit - 1)))
                return false;
        next += (uint64_t)8 * 63;
    }
    return true;
}

static int read_starts(struct rb_code_file *f, struct rb_error *e)
{
    const uint8_t *data;
    bool good = rb_code_file_add_start(f, f->header->e_entry);

    for (size_t i = 0; i < f->sections && good; i++) {
        const uint64_t entries = entries_of(f, &f->section[i], &data);
        for (uint64_t n = 0; n < entries && good; n++)
            good = read_start(f, f->section[i].sh_type == SHT_RELA, data, n);
        good = good && read_packed(f, &f->section[i]);
    }
    return good ? 0 : rb_internal(e, "%s: no memory for %zu symbols", f->path, f->starts);
}

int rb_code_file_read(struct rb_code_file *f, struct rb_error *e)
{
    for (size_t i = 0; i < f->sections; i++) {
        const Elf64_Shdr *s = &f->section[i];
        if (s->sh_flags & SHF_EXECINSTR && s->sh_type == SHT_PROGBITS && s->sh_size <= f->bytes)
            f->code_bytes += s->sh_size;
        if (s->sh_type == SHT_PROGBITS && !strcmp(name_of(f, s), ".comment"))
            read_comment(f, s);
    }
    for (size_t i = 0; i < f->segments && !f->sections; i++)
        if (f->segment[i].p_type == PT_LOAD && f->segment[i].p_flags & PF_X &&
            f->segment[i].p_filesz <= f->bytes)
            f->code_bytes += f->segment[i].p_filesz;
    if (!f->producers)
        f->producers = RB_CODE_BY_UNKNOWN;
    int failed = read_frames(f, e);
    if (failed)
        return failed;
    tidy_ranges(f);
    return read_starts(f, e);
}
