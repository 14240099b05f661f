// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Takes our libraries out of LD_PRELOAD for a program that cannot load them, started by a program that has
// them. Such programs use another loader than glibc's for x86-64 (musl, 32 bits), or an AddressSanitizer
// that must come first.
//
// A child of fork calls these functions: no allocation, no lock. The file is read by system calls.
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inproc/host.h"

static const char VARIABLE[] = "LD_PRELOAD=";

static bool begins_with(const char *text, const char *start)
{
    while (*start && *text == *start)
        text++, start++;
    return !*start;
}

static size_t length_of(const char *text)
{
    size_t n = 0;

    while (text[n])
        n++;
    return n;
}

// ---- the variable --------------------------------------------------------------------------------------
// `railbird run` and `watch` put a library of ours first; further names from a folder beside it follow.

// Returns the length of the folder that our libraries are in, or 0.
static size_t our_folder(const char *list)
{
    size_t folder = 0;

    for (size_t i = 0; list[i] && list[i] != ':' && list[i] != ' '; i++)
        if (list[i] == '/')
            folder = i + 1;
    return begins_with(list + folder, "librailbird_") ? folder : 0;
}

static const char *preload_of(char *const *environment)
{
    for (char *const *e = environment; e && *e; e++)
        if (begins_with(*e, VARIABLE))
            return *e + sizeof(VARIABLE) - 1;
    return NULL;
}

static bool same_start(const char *a, const char *b, size_t bytes)
{
    while (bytes && *a == *b)
        a++, b++, bytes--;
    return !bytes;
}

static bool is_ours(const char *name, const char *list, size_t folder)
{
    return same_start(name, list, folder) &&
           (begins_with(name + folder, "librailbird_") || begins_with(name + folder, "railbird/"));
}

// Copies the names that are not ours. Returns the bytes written.
static size_t copy_others(char *to, const char *list)
{
    const size_t folder = our_folder(list);
    size_t used = 0;

    for (const char *at = list; *at;) {
        size_t bytes = 0;
        while (at[bytes] && at[bytes] != ':' && at[bytes] != ' ')
            bytes++;
        if (bytes && !is_ours(at, list, folder)) {
            if (used)
                to[used++] = ':';
            for (size_t i = 0; i < bytes; i++)
                to[used++] = at[i];
        }
        at += bytes + (at[bytes] != 0);
    }
    to[used] = 0;
    return used;
}

char *const *rb_preload_drop(char *const *environment, void *room)
{
    char **out = room;
    size_t count = 0, n = 0;

    while (environment[count])
        count++;
    char *text = (char *)(out + count + 1);
    for (char *const *e = environment; *e; e++) {
        if (!begins_with(*e, VARIABLE)) {
            out[n++] = *e;
            continue;
        }
        for (size_t i = 0; i < sizeof(VARIABLE); i++)
            text[i] = VARIABLE[i];
        if (copy_others(text + sizeof(VARIABLE) - 1, *e + sizeof(VARIABLE) - 1))
            out[n++] = text;
        text += length_of(text) + 1;
    }
    out[n] = NULL;
    return out;
}

// ---- the file ------------------------------------------------------------------------------------------

static bool read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
    return syscall(SYS_pread64, fd, to, bytes, offset) == (long)bytes;
}

// Reads a string up to the end of the room or the file, and ends it.
static void read_text(int fd, char *to, size_t room, uint64_t offset)
{
    const long got = syscall(SYS_pread64, fd, to, room - 1, offset);

    to[got > 0 ? got : 0] = 0;
}

static uint64_t offset_of(int fd, const Elf64_Ehdr *head, uint64_t address)
{
    Elf64_Phdr s;

    for (unsigned i = 0; i < head->e_phnum; i++)
        if (read_at(fd, &s, sizeof(s), head->e_phoff + i * sizeof(s)) && s.p_type == PT_LOAD &&
            address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz)
            return s.p_offset + (address - s.p_vaddr);
    return 0;
}

enum { MOST_ENTRIES = 512 };

static bool needs_asan(int fd, const Elf64_Ehdr *head, const Elf64_Phdr *dynamic)
{
    uint64_t names = 0;
    Elf64_Dyn d;

    for (int pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i < MOST_ENTRIES && i < dynamic->p_filesz / sizeof(d); i++) {
            char name[24];
            if (!read_at(fd, &d, sizeof(d), dynamic->p_offset + i * sizeof(d)) || d.d_tag == DT_NULL)
                break;
            if (pass == 0 && d.d_tag == DT_STRTAB)
                names = offset_of(fd, head, d.d_un.d_ptr);
            if (pass == 0 || d.d_tag != DT_NEEDED || !names)
                continue;
            read_text(fd, name, sizeof(name), names + d.d_un.d_val);
            if (begins_with(name, "libasan.so") || begins_with(name, "libclang_rt.asan"))
                return true;
        }
    return false;
}

static bool has_other_loader(int fd, const Elf64_Phdr *interpreter)
{
    char path[256], *name = path;

    read_text(fd, path, interpreter->p_filesz < sizeof(path) ? interpreter->p_filesz + 1 : sizeof(path),
              interpreter->p_offset);
    for (char *c = path; *c; c++)
        if (*c == '/')
            name = c + 1;
    return !begins_with(name, "ld-linux-x86-64.so.2");
}

static bool elf_refuses(int fd, const Elf64_Ehdr *head)
{
    Elf64_Phdr s;

    if (head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_machine != EM_X86_64)
        return true;
    for (unsigned i = 0; head->e_phentsize == sizeof(s) && i < head->e_phnum; i++) {
        if (!read_at(fd, &s, sizeof(s), head->e_phoff + i * sizeof(s)))
            return false;
        if ((s.p_type == PT_INTERP && has_other_loader(fd, &s)) ||
            (s.p_type == PT_DYNAMIC && needs_asan(fd, head, &s)))
            return true;
    }
    return false;
}

// Returns the name of a script's interpreter, ended in place, or NULL.
static const char *interpreter_of(char *line)
{
    char *name = line + 2;

    if (!begins_with(line, "#!"))
        return NULL;
    while (*name == ' ' || *name == '\t')
        name++;
    char *end = name;
    while (*end && *end != ' ' && *end != '\t' && *end != '\n')
        end++;
    *end = 0;
    return name;
}

static bool file_refuses(const char *path)
{
    char line[256];

    for (int depth = 0; path && depth < 4; depth++) {
        union {
            Elf64_Ehdr head;
            char bytes[sizeof(line)];
        } start = {0};
        const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
        if (fd < 0)
            return false;
        read_text(fd, start.bytes, sizeof(start.bytes), 0);
        const bool elf = begins_with(start.bytes, ELFMAG), refuses = elf && elf_refuses(fd, &start.head);
        syscall(SYS_close, fd);
        if (elf)
            return refuses;
        __builtin_memcpy(line, start.bytes, sizeof(line));
        path = interpreter_of(line);
    }
    return false;
}

static bool found_refuses(const char *file)
{
    const char *path = rb_env("PATH");
    char name[4096];

    for (const char *c = file; *c; c++)
        if (*c == '/')
            return file_refuses(file);
    for (path = path ? path : "/bin:/usr/bin"; *file;) {
        size_t bytes = 0;
        while (path[bytes] && path[bytes] != ':')
            bytes++;
        if (bytes + length_of(file) + 2 <= sizeof(name)) {
            size_t n = 0;
            for (; n < bytes; n++)
                name[n] = path[n];
            if (n)
                name[n++] = '/';
            for (const char *c = file; *c; c++)
                name[n++] = *c;
            name[n] = 0;
            if (syscall(SYS_access, name, X_OK) == 0)
                return file_refuses(name);
        }
        if (!path[bytes])
            break;
        path += bytes + 1;
    }
    return false;
}

size_t rb_preload_room(const char *file, bool search, char *const *environment)
{
    const int saved = errno;
    const char *list = preload_of(environment);
    size_t room = 0;

    if (!file || !list || !our_folder(list) || rb_host.sandboxed)
        return 0;
    if (search ? found_refuses(file) : file_refuses(file)) {
        for (char *const *e = environment; *e; e++)
            room += sizeof(*e) + (begins_with(*e, VARIABLE) ? length_of(*e) + 1 : 0);
        room += sizeof(char *);
    }
    errno = saved;
    return room;
}
