// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names of modules (modules.h): absolute paths and build-ids.
#include "inproc/modules.h"

#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inproc/unwind.h"

static char program[4096];

// Returns the name that exec was given, for systems without /proc; it is relative to the folder of the
// start.
static void take_given_name(void)
{
    const char *given = (const char *)getauxval(AT_EXECFN);
    const long folder = given && given[0] != '/' ? syscall(SYS_getcwd, program, sizeof(program)) : 0;
    size_t used = folder > 0 ? (size_t)folder - 1 : 0; // without its NUL

    if (!given || folder < 0)
        return;
    if (folder)
        program[used++] = '/';
    while (*given && used < sizeof(program) - 1)
        program[used++] = *given++;
    program[*given ? 0 : used] = 0;
}

const char *rb_program_path(void)
{
    if (!program[0]) {
        const ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
        program[n > 0 ? n : 0] = 0;
        if (n <= 0)
            take_given_name();
    }
    return program;
}

// Notes are at most a page or two. A build-id usually has 20 bytes, here at most 32.
static void read_build_id(const char *at, size_t bytes, char *hex)
{
    while (bytes >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const void *)at;
        const size_t name = (note->n_namesz + 3u) & ~(size_t)3, desc = (note->n_descsz + 3u) & ~(size_t)3;
        const size_t total = sizeof(*note) + name + desc;
        if (total > bytes || total < name || total < desc)
            return;
        const unsigned char *id = (const unsigned char *)at + sizeof(*note) + name;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && note->n_descsz <= 32) {
            for (unsigned i = 0; i < note->n_descsz; i++) {
                hex[2 * i] = "0123456789abcdef"[id[i] >> 4];
                hex[2 * i + 1] = "0123456789abcdef"[id[i] & 15];
            }
            hex[2 * note->n_descsz] = 0;
            return;
        }
        at += total;
        bytes -= total;
    }
}

// ---- names that are not absolute -----------------------------------------------------------------------
// The loader keeps a library's name in the form in which it was requested, by dlopen or by a relative
// rpath. Once the program has changed its folder, and in the tool's process, a relative name means nothing.
// The kernel knows the file. Its name is looked up once while the same libraries are loaded, and kept for
// good: programs load few libraries that way.

struct place {
    struct place *next;
    uint64_t key; // where the file is mapped, and the generation of loaded files (unwind.h) in bits 48 to 63
    char path[];
};
static struct place *places; // grows only, at its head

static struct place *places_now(void)
{
    return rb_load_acquire(&places);
}

#define LINE 4352u // of the kernel's list of maps: a path and the text before it

// Returns true if the line's range (from-to, in hexadecimal) holds the address.
static bool line_holds(const char *line, uintptr_t address)
{
    uintptr_t bound[2] = {0, 0};

    for (unsigned i = 0; i < 2; i++, line++)
        for (; *line && *line != '-' && *line != ' '; line++)
            bound[i] = bound[i] << 4 | (uintptr_t)(*line <= '9' ? *line - '0' : *line - 'a' + 10);
    return bound[0] <= address && address < bound[1];
}

// Returns the name in a line, which is ended here; NULL if the mapping is not a file.
static char *name_in(char *line)
{
    static const char gone[] = " (deleted)";
    const size_t tail = sizeof(gone) - 1;
    char *end = line;

    while (*line && *line != '/')
        line++;
    while (*end)
        end++;
    if ((size_t)(end - line) > tail && !__builtin_strcmp(end - tail, gone))
        end[-(ptrdiff_t)tail] = 0;
    return *line ? line : NULL;
}

// Finds the line of the process's maps that holds the address, reading whole lines. It reads the maps of
// this thread: if the main thread has ended, the kernel returns nothing for the process.
static char *find_line(char room[LINE], uintptr_t address)
{
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/thread-self/maps", O_RDONLY | O_CLOEXEC, 0);
    char *found = NULL;
    size_t used = 0;
    long got = 0;

    while (fd >= 0 && !found && (got = syscall(SYS_read, fd, room + used, LINE - 1 - used)) > 0) {
        char *line = room, *c = room;
        used += (size_t)got;
        room[used] = 0;
        for (; !found && *c; c++) {
            if (*c != '\n')
                continue;
            *c = 0;
            if (line_holds(line, address))
                found = line;
            line = c + 1;
        }
        if (found || line == room) // or a line that is longer than any
            break;
        used -= (size_t)(line - room);
        for (size_t i = 0; i < used; i++)
            room[i] = line[i];
    }
    if (fd >= 0)
        syscall(SYS_close, fd);
    return found;
}

static const char *keep_path(const char *path, uint64_t key)
{
    size_t bytes = sizeof(struct place) + 1;

    for (struct place *p = places_now(); p; p = p->next)
        if (!__builtin_strcmp(p->path, path)) {
            rb_store_relaxed(&p->key, key);
            return p->path;
        }
    for (const char *c = path; *c; c++)
        bytes++;
    struct place *p = rb_arena_alloc(&rb_host.kept, bytes);
    if (!p)
        return NULL;
    p->key = key;
    for (size_t i = 0; i < bytes - sizeof(*p); i++)
        p->path[i] = path[i];
    p->next = places_now();
    while (!rb_cas_weak_release(&places, &p->next, p))
        ;
    return p->path;
}

static RB_NOINLINE const char *look_up(const char *name, uintptr_t address, uint64_t key)
{
    if (rb_host.sandboxed) // no file may be opened
        return name;
    char room[LINE], *line = find_line(room, address), *path = line ? name_in(line) : NULL;
    const char *kept = keep_path(path ? path : name, key);

    return kept ? kept : name;
}

static const char *absolute_path(const char *name, uintptr_t from, uintptr_t address)
{
    const uint64_t key = rb_unwind_generation() << 48 | from;

    for (const struct place *p = places_now(); p; p = p->next)
        if (rb_load_relaxed(&p->key) == key)
            return p->path;
    return look_up(name, address, key);
}

static const char *path_of(const struct rb_module_map *map, uintptr_t address)
{
    const char *name = map->entry->l_name;

    if (!name || !name[0])
        return rb_program_path();
    return name[0] == '/' ? name : absolute_path(name, map->from, address);
}

bool rb_module_of(uintptr_t address, struct rb_module *m)
{
    const ElfW(Phdr) * header;
    struct rb_module_map map;

    m->build_id[0] = 0;
    if (!rb_module_find(address, &map) || !map.entry)
        return false;
    m->path = path_of(&map, address);
    m->from = map.from;
    m->to = map.to;
    m->bias = map.bias;
    const unsigned count = rb_module_headers(&map, &header); // 0 for the vdso, which has no file
    for (unsigned i = 0; i < count && !m->build_id[0]; i++)
        if (header[i].p_type == PT_NOTE)
            read_build_id((const char *)(m->bias + header[i].p_vaddr), header[i].p_memsz, m->build_id);
    return true;
}
