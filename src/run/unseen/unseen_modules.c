// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loaded modules and the tables of each that the loader uses (System V ABI, "Dynamic Linking").
#include "run/intercept/callers.h"
#include "run/unseen/unseen.h"

#if !defined(RB_STATIC)
struct rb_loaded rb_loaded[RB_LOADED_MOST];
unsigned rb_loaded_count;

static struct rb_loaded earlier[RB_LOADED_MOST]; // the list before
static unsigned earlier_count;

// ---- one module ----------------------------------------------------------------------------------------

static const char *base_name(const char *path)
{
    const char *name = path ? path : "";

    for (; path && *path; path++)
        if (*path == '/')
            name = path + 1;
    return name;
}

static bool begins_with(const char *name, const char *begin)
{
    while (*begin && *name == *begin)
        name++, begin++;
    return !*begin;
}

static bool is_exempt_name(const char *name)
{
    static const char *const rows[] = {
#define RB_EXEMPT(begin, reason) begin,
#include "run/unseen/exempt_libraries.def"
#undef RB_EXEMPT
    };

    for (unsigned i = 0; i < RB_LENGTH(rows); i++)
        if (begins_with(name, rows[i]))
            return true;
    return false;
}

static void read_headers(struct rb_loaded *m)
{
    m->from = UINTPTR_MAX;
    for (unsigned i = 0; i < m->headers; i++) {
        const ElfW(Phdr) *p = &m->header[i];
        const uintptr_t start = m->base + p->p_vaddr;
        if (p->p_type == PT_DYNAMIC)
            m->section = (const void *)start;
        if (p->p_type != PT_LOAD)
            continue;
        m->from = start < m->from ? start : m->from;
        m->to = start + p->p_memsz > m->to ? start + p->p_memsz : m->to;
    }
}

// Returns the table at an entry's address. The loader has added the base, except where the section cannot
// be written.
static const void *table_at(const struct rb_loaded *m, const ElfW(Dyn) * entry)
{
    const uintptr_t at = entry->d_un.d_ptr;

    return (const void *)(at < m->base ? m->base + at : at);
}

static void read_entry(struct rb_loaded *m, const ElfW(Dyn) * entry)
{
    const void *at = table_at(m, entry);

    switch (entry->d_tag) {
    case DT_SYMTAB:
        m->symbols = at;
        break;
    case DT_STRTAB:
        m->names = at;
        break;
    case DT_STRSZ:
        m->name_bytes = entry->d_un.d_val;
        break;
    case DT_GNU_HASH:
        m->gnu_hash = at;
        break;
    case DT_VERSYM:
        m->versions = at;
        break;
    case DT_VERNEED:
        m->needs = at;
        break;
    case DT_VERDEF:
        m->defines = at;
        break;
    case DT_JMPREL:
        m->jumps = at;
        break;
    case DT_PLTRELSZ:
        m->jump_count = entry->d_un.d_val / sizeof(*m->jumps);
        break;
    case DT_RELA:
        m->rest = at;
        break;
    case DT_RELASZ:
        m->rest_count = entry->d_un.d_val / sizeof(*m->rest);
        break;
    default:
        break;
    }
}

static void read_section(struct rb_loaded *m)
{
    uintptr_t soname = 0;

    m->soname = "";
    for (const ElfW(Dyn) *entry = m->section; entry && entry->d_tag != DT_NULL; entry++) {
        read_entry(m, entry);
        if (entry->d_tag == DT_SONAME)
            soname = entry->d_un.d_val;
    }
    if (m->names && soname && soname < m->name_bytes)
        m->soname = m->names + soname;
}

// ---- the list ------------------------------------------------------------------------------------------

static const struct rb_loaded *find_in(const struct rb_loaded *list, unsigned count, uintptr_t section)
{
    for (unsigned i = 0; i < count; i++)
        if ((uintptr_t)list[i].section == section)
            return &list[i];
    return NULL;
}

const struct rb_loaded *rb_module_loaded(uintptr_t section)
{
    return find_in(rb_loaded, rb_loaded_count, section);
}

static bool is_ours(const struct rb_loaded *m)
{
    const uintptr_t own = (uintptr_t)&rb_process;

    return own >= m->from && own < m->to;
}

// The program itself is no unseen library, with hooks or without: its name is empty.
static void judge_module(struct rb_loaded *m, bool start)
{
    const struct rb_loaded *known = find_in(earlier, earlier_count, (uintptr_t)m->section);

    if (known && known->from == m->from && known->to == m->to) {
        m->hooks = known->hooks;
        m->exempt = known->exempt;
        m->start = known->start;
        m->led = known->led;
        m->left = known->left;
        return;
    }
    m->start = start;
    // The file with the runtime is the program, which is instrumented, or our own library, which is not.
    m->hooks = is_ours(m) ? !m->name[0] : m->section && m->symbols && rb_asks_for_hooks(m->section, m->base);
    m->exempt =
        !m->name[0] || !m->symbols || is_ours(m) || is_exempt_name(m->name) || is_exempt_name(m->soname);
}

static int list_module(struct dl_phdr_info *info, size_t size, void *start)
{
    (void)size;
    if (rb_loaded_count == RB_LOADED_MOST)
        return 1;
    struct rb_loaded *m = &rb_loaded[rb_loaded_count++];
    *m = (struct rb_loaded){.base = info->dlpi_addr,
                            .header = info->dlpi_phdr,
                            .headers = info->dlpi_phnum,
                            .name = base_name(info->dlpi_name)};
    read_headers(m);
    read_section(m);
    judge_module(m, *(const bool *)start);
    return 0;
}

void rb_modules_list(bool start)
{
    for (unsigned i = 0; i < rb_loaded_count; i++)
        earlier[i] = rb_loaded[i];
    earlier_count = rb_loaded_count;
    rb_loaded_count = 0;
    dl_iterate_phdr(list_module, &start);
}
#endif
