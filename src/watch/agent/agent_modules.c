// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loaded modules, the choice of those that are watched, and their tables. Only the agent's thread
// changes them; the handler sees a module once all of its fields are there (agent.h).
//
// Never watched, even if requested:
//   - libc and its parts, which run with all signals blocked at times, where an int3 would kill the process;
//   - this library;
//   - code of Go: its runtime blocks signals by system calls of its own. docs/explanation/watch.md, "Masks".
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/pages.h"
#include "inproc/host.h"
#include "inproc/modules.h"
#include "inproc/tool.h"
#include "watch/agent/agent.h"

#define SEEN 256u

struct seen {
    uintptr_t bias, from, to;
    bool program, go, wanted;
    char path[512], build_id[65];
};
static struct seen seen[SEEN];
static unsigned seen_count, position;
static unsigned long long last_adds, last_subs;
static bool looked;
rb_spin rb_scan_lock;

// ---- names ---------------------------------------------------------------------------------------------

static bool begins_with(const char *text, const char *with)
{
    while (*with && *text == *with)
        text++, with++;
    return !*with;
}

static const char *base_name(const char *path)
{
    const char *base = path;

    for (; *path; path++)
        if (*path == '/')
            base = path + 1;
    return base;
}

// Matches a pattern with * and ?; the recursion is as deep as there are stars.
static bool matches_pattern(const char *pattern, const char *text)
{
    for (; *pattern; pattern++, text++) {
        if (*pattern == '*') {
            for (;; text++) {
                if (matches_pattern(pattern + 1, text))
                    return true;
                if (!*text)
                    return false;
            }
        }
        if (!*text || (*pattern != '?' && *pattern != *text))
            return false;
    }
    return !*text;
}

static bool is_never(const char *path)
{
    static const char *const names[] = {"libc.so",     "libc-",      "ld-",         "libpthread",
                                        "libdl",       "librt.",     "librt-",      "libatomic",
                                        "librailbird", "linux-vdso", "libtsan",     "libasan",
                                        "libgomp",     "libomp",     "libclang_rt", "libthread_db",
                                        "libresolv",   "libnss_",    "libanl"};
    const char *base = base_name(path);

    for (unsigned i = 0; i < RB_LENGTH(names); i++)
        if (begins_with(base, names[i]))
            return true;
    return false;
}

static bool is_wanted(const char *path, bool program)
{
    static const char *const folders[] = {"/lib/",     "/lib64/",     "/lib32/",
                                          "/usr/lib/", "/usr/lib64/", "/usr/lib32/"};

    if (is_never(path) || path[0] != '/')
        return false;
    if (rb_agent.modules[0]) {
        for (const char *p = rb_agent.modules; *p; p += __builtin_strlen(p) + 1)
            if (matches_pattern(p, path) || matches_pattern(p, base_name(path)))
                return true;
        return false;
    }
    if (program)
        return true;
    for (unsigned i = 0; i < RB_LENGTH(folders); i++)
        if (begins_with(path, folders[i]))
            return false;
    return true;
}

// ---- loaded modules ------------------------------------------------------------------------------------

static bool has_go_note(const char *at, size_t bytes)
{
    while (bytes >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const void *)at;
        const size_t name = (note->n_namesz + 3u) & ~(size_t)3, desc = (note->n_descsz + 3u) & ~(size_t)3;
        const size_t total = sizeof(*note) + name + desc;
        if (total > bytes || total < name || total < desc)
            return false;
        if (note->n_namesz == 3 && !__builtin_memcmp(note + 1, "Go", 3))
            return true;
        if (note->n_namesz == 4 && !__builtin_memcmp(note + 1, "Go\0", 4))
            return true;
        at += total;
        bytes -= total;
    }
    return false;
}

static int take_module(struct dl_phdr_info *info, size_t size, void *unused)
{
    struct seen *s = &seen[seen_count];

    (void)size;
    (void)unused;
    last_adds = info->dlpi_adds;
    last_subs = info->dlpi_subs;
    if (seen_count == SEEN)
        return 0;
    *s = (struct seen){.bias = info->dlpi_addr, .from = UINTPTR_MAX, .program = position++ == 0};
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const uintptr_t start = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_NOTE && has_go_note((const char *)start, p->p_memsz))
            s->go = true;
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
            continue;
        s->from = start < s->from ? start : s->from;
        s->to = start + p->p_filesz > s->to ? start + p->p_filesz : s->to;
    }
    if (s->from < s->to)
        seen_count++;
    return 0;
}

// Returns true for this library, libc and the loader, under any file name.
static bool is_part_of_us(const struct seen *s)
{
    const uintptr_t known[] = {(uintptr_t)take_module, (uintptr_t)dl_iterate_phdr, (uintptr_t)mmap,
                               (uintptr_t)_dl_find_object};

    for (unsigned i = 0; i < RB_LENGTH(known); i++)
        if (rb_module_is_same(known[i], s->from))
            return true;
    return false;
}

// Decides if a module is watched; fills in its path and build-id. Nothing can be unloaded meanwhile: dlclose
// waits for the planting lock.
static void identify_module(struct seen *s)
{
    struct rb_module m;

    s->wanted = !is_part_of_us(s) && rb_module_of(s->from, &m) && is_wanted(m.path, s->program);
    if (!s->wanted)
        return;
    for (unsigned i = 0; m.path[i] && i < sizeof(s->path) - 1; i++)
        s->path[i] = m.path[i];
    __builtin_memcpy(s->build_id, m.build_id, sizeof(s->build_id));
}

struct counts {
    unsigned long long adds, subs;
};

static int take_counts(struct dl_phdr_info *info, size_t size, void *given)
{
    struct counts *c = given;

    (void)size;
    c->adds = info->dlpi_adds;
    c->subs = info->dlpi_subs;
    return 1;
}

// Calls dl_iterate_phdr, which takes the loader's lock. It must not run while the process forks: the child
// would find the lock taken for good.
static void iterate_modules(int (*with)(struct dl_phdr_info *, size_t, void *), void *given)
{
    rb_spin_lock(&rb_scan_lock);
    dl_iterate_phdr(with, given);
    rb_spin_unlock(&rb_scan_lock);
}

// ---- tables --------------------------------------------------------------------------------------------

static void report_unwatched(const char *path, const char *why)
{
    char line[768];
    struct rb_text t;

    rb_text_init(&t, line, sizeof(line) - 1);
    rb_put(&t, "Railbird: watch: ");
    rb_put(&t, path);
    rb_put(&t, " is not watched: ");
    rb_put(&t, why);
    t.end++;
    rb_put_char(&t, '\n');
    rb_say(line, (size_t)(t.at - line));
}

void rb_modules_init(void)
{
    rb_table_cache_init();
}

static const char *load_table(struct rb_code_module *m)
{
    uint8_t id[RB_CODE_ID_BYTES];
    char path[4300];

    if (!m->build_id[0])
        return "it has no build-id (link it with -Wl,--build-id)";
    if (!rb_table_path(m->build_id, ".rbc", path, sizeof(path)))
        return "neither XDG_CACHE_HOME nor HOME is set: no place for its code table";
    const unsigned bytes = rb_build_id_bytes(m->build_id, id, RB_CODE_ID_BYTES);
    const char *wrong = rb_code_open(&m->table, path, id, bytes);
    if (wrong) {
        const char *const words[] = {"code-table", m->path, NULL};
        if (rb_tool_run(words, "", 0) != 0)
            return "no code table of it could be made; 'railbird code-table' with its name says why";
        wrong = rb_code_open(&m->table, path, id, bytes);
    }
    return wrong && !*wrong ? "its code table has gone" : wrong;
}

static bool room_for_states(struct rb_code_module *m)
{
    const size_t sites = m->table.header->sites;
    void *map = rb_pages_map(2 * sites + 2);

    if (!map)
        return false;
    m->state = map;
    m->original = m->state + sites;
    return true;
}

static void publish_module(struct rb_code_module *m, const struct seen *s)
{
    m->bias = s->bias;
    m->to = s->to;
    rb_store_release(&m->from, s->from);
}

// Returns true if the module is known. If it was unloaded and is back, publishes it again.
static bool is_known(const struct seen *s)
{
    for (uint32_t i = 0; i < rb_module_count; i++) {
        struct rb_code_module *m = &rb_modules[i];
        if (__builtin_strcmp(m->path, s->path) || __builtin_strcmp(m->build_id, s->build_id))
            continue;
        if (!m->from && !m->refused)
            publish_module(m, s);
        return true;
    }
    return false;
}

static void take_in(const struct seen *s)
{
    struct rb_code_module *m = &rb_modules[rb_module_count];
    const char *wrong;

    if (is_known(s) || rb_module_count == RB_MODULES)
        return;
    *m = (struct rb_code_module){.stays = s->program};
    __builtin_memcpy(m->path, s->path, sizeof(m->path));
    __builtin_memcpy(m->build_id, s->build_id, sizeof(m->build_id));
    wrong = s->go ? "it is code of Go, whose runtime blocks signals by itself" : load_table(m);
    if (!wrong && !room_for_states(m))
        wrong = "no memory";
    m->refused = wrong != NULL;
    if (wrong)
        report_unwatched(m->path, wrong);
    rb_spin_lock(&rb_plant_lock);
    struct counts now = {0, 0};
    iterate_modules(take_counts, &now);
    if (!wrong && now.subs == last_subs && !rb_plant_holds) // else it may be gone, and is checked again
        publish_module(m, s);
    rb_store_release(&rb_module_count, rb_module_count + 1);
    rb_spin_unlock(&rb_plant_lock);
    if (!wrong && !m->from)
        last_subs--;
}

// Drops modules that are gone: dlclose has put their bytes back before (agent_process.c).
static void drop_gone(void)
{
    for (uint32_t i = 0; i < rb_module_count; i++) {
        bool there = false;
        for (unsigned k = 0; k < seen_count; k++)
            there |=
                seen[k].from == rb_modules[i].from && !__builtin_strcmp(seen[k].path, rb_modules[i].path);
        if (!there)
            rb_store_release(&rb_modules[i].from, 0);
    }
}

bool rb_modules_look(void)
{
    struct counts now = {0, 0};

    iterate_modules(take_counts, &now);
    if (looked && now.adds == last_adds && now.subs == last_subs)
        return false;
    seen_count = position = 0;
    iterate_modules(take_module, NULL);
    for (unsigned i = 0; i < seen_count; i++)
        identify_module(&seen[i]);
    drop_gone();
    return true;
}

void rb_modules_take(void)
{
    for (unsigned i = 0; i < seen_count; i++)
        if (seen[i].wanted)
            take_in(&seen[i]);
    looked = true;
}
