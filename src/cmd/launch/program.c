// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Classifies a program by its ELF headers.
#include "cmd/launch/launch.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

// The file in memory. Every offset in it is checked before use: it may have any value.
struct file {
    const char *bytes;
    size_t size;
};

static const void *bytes_at(const struct file *f, uint64_t offset, uint64_t size)
{
    return offset <= f->size && size <= f->size - offset ? f->bytes + offset : NULL;
}

// Returns a table of `count` entries of `entry` bytes, or NULL.
static const void *table_at(const struct file *f, uint64_t offset, uint64_t count, uint64_t entry)
{
    uint64_t size;

    return __builtin_mul_overflow(count, entry, &size) ? NULL : bytes_at(f, offset, size);
}

struct strings {
    const char *text;
    size_t size;
};

// Returns the name at that offset of a string table; "" if the offset is outside.
static const char *name_at(struct strings s, uint64_t offset)
{
    return offset < s.size && memchr(s.text + offset, 0, s.size - offset) ? s.text + offset : "";
}

struct seen {
    bool symbols, ours, init_defined, hooks;
};

static void look_at_symbols(const Elf64_Sym *symbol, size_t count, struct strings names, struct seen *seen)
{
    for (size_t i = 0; i < count; i++) {
        const char *name = name_at(names, symbol[i].st_name);

        seen->symbols |= *name != 0;
        if (strncmp(name, "__", 2))
            continue;
        const bool defined = symbol[i].st_shndx != SHN_UNDEF;
        seen->ours |= defined && !strcmp(name, "__railbird_runtime");
        seen->hooks |= !strncmp(name, "__tsan_", 7);
        seen->init_defined |= defined && !strcmp(name, "__tsan_init");
    }
}

static void look_at_dynamic(const Elf64_Dyn *entry, size_t count, struct strings names, struct program *p)
{
    for (size_t i = 0; i < count && entry[i].d_tag != DT_NULL; i++) {
        const char *name = entry[i].d_tag == DT_NEEDED ? name_at(names, entry[i].d_un.d_val) : "";

        if (!strncmp(name, "libtsan.so", 10) || !strncmp(name, "libclang_rt.tsan", 16))
            snprintf(p->needed, sizeof(p->needed), "%s", name);
        if (!strncmp(name, "libasan.so", 10) || !strncmp(name, "libclang_rt.asan", 16))
            snprintf(p->refuses, sizeof(p->refuses), "its AddressSanitizer (%.60s) must be loaded first",
                     name);
        p->needs_ours |= !strncmp(name, "librailbird_rt.so", 17);
    }
}

static void look_at_sections(const struct file *f, const Elf64_Ehdr *header, struct program *p,
                             struct seen *seen)
{
    const Elf64_Shdr *section = table_at(f, header->e_shoff, header->e_shnum, sizeof(*section));

    if (header->e_shentsize != sizeof(*section) || header->e_shoff % _Alignof(Elf64_Shdr) || !section)
        return;
    for (size_t i = 0; i < header->e_shnum; i++) {
        const Elf64_Shdr *s = &section[i];
        const bool symbols = s->sh_type == SHT_SYMTAB || s->sh_type == SHT_DYNSYM;

        if ((!symbols && s->sh_type != SHT_DYNAMIC) || s->sh_link >= header->e_shnum || s->sh_offset % 8)
            continue;
        const Elf64_Shdr *n = &section[s->sh_link];
        const struct strings names = {bytes_at(f, n->sh_offset, n->sh_size), n->sh_size};
        const void *content = bytes_at(f, s->sh_offset, s->sh_size);
        if (!names.text || !content)
            continue;
        if (symbols)
            look_at_symbols(content, s->sh_size / sizeof(Elf64_Sym), names, seen);
        else
            look_at_dynamic(content, s->sh_size / sizeof(Elf64_Dyn), names, p);
    }
}

static void look_at_segments(const struct file *f, const Elf64_Ehdr *header, struct program *p)
{
    const Elf64_Phdr *segment = table_at(f, header->e_phoff, header->e_phnum, sizeof(*segment));

    if (header->e_phentsize != sizeof(*segment) || header->e_phoff % _Alignof(Elf64_Phdr) || !segment)
        return;
    for (size_t i = 0; i < header->e_phnum; i++) {
        if (segment[i].p_type != PT_INTERP)
            continue;
        p->loader = true;
        const struct strings content = {bytes_at(f, segment[i].p_offset, segment[i].p_filesz),
                                        segment[i].p_filesz};
        const char *path = content.text ? name_at(content, 0) : "", *slash = strrchr(path, '/');
        if (*path && strcmp(slash ? slash + 1 : path, "ld-linux-x86-64.so.2"))
            snprintf(p->refuses, sizeof(p->refuses), "it has a libc of its own (its loader is %.100s)", path);
    }
}

static void classify_file(const struct file *f, struct program *p)
{
    const Elf64_Ehdr *header = bytes_at(f, 0, sizeof(*header));
    struct seen seen = {0};

    if (f->size < 5 || memcmp(f->bytes, ELFMAG, SELFMAG))
        return;
    if (!header || header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_machine != EM_X86_64) {
        p->kind = PROGRAM_FOREIGN;
        return;
    }
    look_at_segments(f, header, p);
    look_at_sections(f, header, p, &seen);
    // A stripped program without a loader has no symbols: look for the runtime's strings.
    if (!seen.symbols)
        seen.ours = memmem(f->bytes, f->size, "RAILBIRD_OPTIONS", 16) != NULL;
    if (seen.ours || p->needs_ours)
        p->kind = PROGRAM_OURS;
    else if (seen.init_defined)
        p->kind = PROGRAM_STATIC;
    else
        p->kind = seen.hooks || p->needed[0] ? PROGRAM_SHARED : PROGRAM_PLAIN;
}

// Returns true if exec of the file sets AT_SECURE in a process of ours. The loader then ignores LD_PRELOAD,
// and our runtime its options.
static bool gives_rights(const char *path)
{
    struct statvfs mount;
    struct stat st;
    char value[64];

    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 || stat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
        (statvfs(path, &mount) == 0 && (mount.f_flag & ST_NOSUID)))
        return false;
    return ((st.st_mode & S_ISUID) && st.st_uid != getuid()) ||
           ((st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) && st.st_gid != getgid()) ||
           (getuid() != 0 && getxattr(path, "security.capability", value, sizeof(value)) > 0);
}

void program_say_refuses(const char *path, const struct program *p, struct rb_error *e)
{
    rb_bad_input(e, "%s takes no library of ours: %s; it and what it starts run unwatched", path, p->refuses);
}

void program_say_privileged(const char *path, struct rb_error *e)
{
    rb_bad_input(e,
                 "%s has rights of its own (setuid, setgid or capabilities) and takes neither libraries nor "
                 "options from its caller: it cannot be looked into; run it as the user it is for",
                 path);
}

void program_look(const char *path, struct program *p)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct file f;
    struct stat st;

    *p = (struct program){.kind = PROGRAM_OTHER, .privileged = gives_rights(path)};
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0) {
        f.size = (size_t)st.st_size;
        void *bytes = mmap(NULL, f.size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            f.bytes = bytes;
            classify_file(&f, p);
            munmap(bytes, f.size);
        }
    }
    close(fd);
}
