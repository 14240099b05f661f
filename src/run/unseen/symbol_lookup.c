// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Symbols of loaded modules, read from the tables that the loader uses (System V ABI, "Dynamic Linking";
// GNU hash and symbol versions as in glibc's elf/dl-lookup.c).
//
// dlsym is not used: it replaces the message that the program may still ask for by dlerror. A symbol is
// resolved here only if the loader could not come to another result, and no sooner than it would bind it.
#include "run/unseen/unseen.h"

#if !defined(RB_STATIC)
#define HIDDEN_VERSION 0x8000u
#define BASE_VERSION   1u

static bool is_equal(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

// ---- versions ------------------------------------------------------------------------------------------

// Returns the version that a symbol asks for; NULL if none.
static const char *find_needed_version(const struct rb_loaded *m, uint32_t symbol)
{
    const unsigned wanted = m->versions ? m->versions[symbol] & ~HIDDEN_VERSION : 0;
    const char *at = m->needs;

    if (wanted <= BASE_VERSION)
        return NULL;
    while (at) {
        const ElfW(Verneed) *file = (const void *)at;
        const char *of = at + file->vn_aux;
        for (unsigned i = 0; i < file->vn_cnt; i++) {
            const ElfW(Vernaux) *version = (const void *)of;
            if ((version->vna_other & ~HIDDEN_VERSION) == wanted)
                return m->names + version->vna_name;
            of += version->vna_next;
        }
        at = file->vn_next ? at + file->vn_next : NULL;
    }
    return NULL;
}

// Returns the version with the number that the module defines; NULL if none.
static const char *find_defined_version(const struct rb_loaded *m, unsigned number)
{
    const char *at = m->defines;

    while (at) {
        const ElfW(Verdef) *version = (const void *)at;
        const ElfW(Verdaux) *name = (const void *)(at + version->vd_aux);
        if ((version->vd_ndx & ~HIDDEN_VERSION) == number)
            return m->names + name->vda_name;
        at = version->vd_next ? at + version->vd_next : NULL;
    }
    return NULL;
}

static bool version_fits(const struct rb_loaded *m, uint32_t symbol, const char *wanted)
{
    if (!m->versions || !m->defines)
        return true;
    const unsigned word = m->versions[symbol];
    if (!wanted)
        return !(word & HIDDEN_VERSION);
    const char *defined = find_defined_version(m, word & ~HIDDEN_VERSION);
    return defined && is_equal(defined, wanted);
}

// ---- search --------------------------------------------------------------------------------------------

static uint32_t hash_name(const char *name)
{
    uint32_t h = 5381;

    for (; *name; name++)
        h = h * 33 + (unsigned char)*name;
    return h;
}

static bool defines_function(const struct rb_loaded *m, uint32_t symbol, const char *name)
{
    const ElfW(Sym) *s = &m->symbols[symbol];
    const unsigned visibility = ELF64_ST_VISIBILITY(s->st_other);

    return s->st_shndx != SHN_UNDEF && s->st_value && s->st_name < m->name_bytes &&
           (visibility == STV_DEFAULT || visibility == STV_PROTECTED) &&
           ELF64_ST_BIND(s->st_info) != STB_LOCAL && is_equal(m->names + s->st_name, name);
}

// Returns the symbol's number in the module, or 0.
static uint32_t find_symbol(const struct rb_loaded *m, const char *name, uint32_t hash, const char *version)
{
    const uint32_t *table = m->gnu_hash;

    if (!table || !table[0] || !m->symbols || !m->names)
        return 0;
    const uint32_t buckets = table[0], first = table[1], words = table[2], shift = table[3];
    const uint64_t *bloom = (const void *)(table + 4);
    const uint64_t word = bloom[hash / 64 % words];
    if (!(word >> hash % 64 & 1) || !(word >> (hash >> shift) % 64 & 1))
        return 0;
    const uint32_t *bucket = (const uint32_t *)(const void *)(bloom + words), *chain = bucket + buckets;
    uint32_t symbol = bucket[hash % buckets];
    for (; symbol >= first; symbol++) {
        const uint32_t found = chain[symbol - first];
        if ((found | 1) == (hash | 1) && defines_function(m, symbol, name) &&
            version_fits(m, symbol, version))
            return symbol;
        if (found & 1)
            return 0;
    }
    return 0;
}

uint32_t rb_symbol_count(const struct rb_loaded *m)
{
    const uint32_t *table = m->gnu_hash;
    uint32_t last = 0;

    if (!table || !table[0] || !m->symbols)
        return 0;
    const uint32_t *bucket = table + 4 + (size_t)table[2] * 2, *chain = bucket + table[0];
    for (uint32_t i = 0; i < table[0]; i++)
        last = bucket[i] > last ? bucket[i] : last;
    if (last < table[1])
        return table[1];
    while (!(chain[last - table[1]] & 1))
        last++;
    return last + 1;
}

static bool needs_library(const struct rb_loaded *m, const char *soname)
{
    for (const ElfW(Dyn) *entry = m->section; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_NEEDED && entry->d_un.d_val < m->name_bytes &&
            is_equal(m->names + entry->d_un.d_val, soname))
            return true;
    return false;
}

// The loader's list begins with the modules that came with the program, in the order in which it searches
// them. So the first definition is the one it takes if the caller came with the program too. Otherwise a
// search of the caller's own libraries may come first.
uintptr_t rb_symbol_target(const struct rb_loaded *caller, uint32_t symbol, bool *certain)
{
    const ElfW(Sym) *asked = &caller->symbols[symbol];
    const struct rb_loaded *definer = NULL;
    unsigned definitions = 0;
    uint32_t found = 0;

    *certain = false;
    if (asked->st_name >= caller->name_bytes || asked->st_shndx != SHN_UNDEF) // its own may come first
        return 0;
    const char *name = caller->names + asked->st_name, *version = find_needed_version(caller, symbol);
    const uint32_t hash = hash_name(name);
    for (unsigned i = 0; i < rb_loaded_count; i++) {
        const uint32_t s = find_symbol(&rb_loaded[i], name, hash, version);
        if (s && !definitions++) {
            definer = &rb_loaded[i];
            found = s;
        }
    }
    if (!definer)
        return 0;
    const bool stays = definer->start || needs_library(caller, definer->soname);
    const bool first = definitions == 1 || (definer->start && caller->start);
    *certain = stays && first && ELF64_ST_TYPE(definer->symbols[found].st_info) == STT_FUNC;
    return definer->base + definer->symbols[found].st_value;
}
#endif
