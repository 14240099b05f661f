// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run/intercept/callers.h"

#include <errno.h>

#include "base/types.h"
#include "inproc/modules.h"
#include "inproc/unwind.h"
#include "run/intercept/intercept.h"

struct symbols {
    const ElfW(Sym) * first;
    const char *names;
    size_t name_bytes;
    const uint32_t *gnu_hash, *hash;
};

static void find_symbols(const ElfW(Dyn) * d, struct symbols *s)
{
    *s = (struct symbols){0};
    for (; d && d->d_tag != DT_NULL; d++) {
        const void *at = (const void *)d->d_un.d_ptr;
        if (d->d_tag == DT_SYMTAB)
            s->first = at;
        else if (d->d_tag == DT_STRTAB)
            s->names = at;
        else if (d->d_tag == DT_STRSZ)
            s->name_bytes = d->d_un.d_val;
        else if (d->d_tag == DT_GNU_HASH)
            s->gnu_hash = at;
        else if (d->d_tag == DT_HASH)
            s->hash = at;
    }
}

// Returns the number of symbols. Undefined ones come before those of the GNU hash table. The old hash table
// has the number itself. With an empty GNU table the names follow the symbols, as linkers lay them out.
static size_t count_symbols(const struct symbols *s)
{
    if (s->hash)
        return s->hash[1];
    if (s->gnu_hash && s->gnu_hash[1] > 1)
        return s->gnu_hash[1];
    if ((const char *)s->first < s->names)
        return (size_t)(s->names - (const char *)s->first) / sizeof(*s->first);
    return 0;
}

static bool is_equal(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

bool rb_asks_for_hooks(const ElfW(Dyn) * dynamic, uintptr_t base)
{
    struct symbols s;

    find_symbols(dynamic, &s);
    if (!s.first || !s.names || (uintptr_t)s.first < base)
        return false;
    for (size_t n = count_symbols(&s), i = 1; i < n; i++)
        if (s.first[i].st_shndx == SHN_UNDEF && s.first[i].st_name < s.name_bytes &&
            is_equal(s.names + s.first[i].st_name, "__tsan_init"))
            return true;
    return false;
}

#if defined(RB_STATIC)
// libc is in the same file as the program and calls its own memcpy by the same name, under locks that are
// not seen. So the caller cannot be determined.
bool rb_caller_counts(uintptr_t pc)
{
    (void)pc;
    return false;
}

bool rb_is_in_hooked_file(uintptr_t pc)
{
    (void)pc;
    return true;
}

// The same holds here, but libc and programs in C count no references.
extern RB_WEAK char __gxx_personality_v0;

bool rb_frees(uintptr_t pc)
{
    (void)pc;
    return &__gxx_personality_v0 == NULL;
}
#else
// A cache of files, by the address they are mapped at. Bits 12 to 47: address of the first page. Bits 48 to
// 63: the generation of loaded files (unwind.h). Bit 0: the file is instrumented. A word is written whole,
// so no lock is needed. A file that was displaced from the cache is inspected again.
#define PLACES 64u
static uint64_t known[PLACES];

// Returns true if the file of the key is instrumented. The file with the runtime is the program, which is
// instrumented, or our own library, which is not.
static RB_NOINLINE bool is_instrumented(uint64_t key)
{
    const uintptr_t own = (uintptr_t)&known, first_page = key << 16 >> 16;
    struct rb_module_map file;

    if (!rb_module_find(first_page, &file) || !file.entry)
        return false;
    if (own >= file.from && own < file.to)
        return !file.entry->l_name[0];
    return rb_asks_for_hooks(file.entry->l_ld, file.bias);
}

bool rb_is_in_hooked_file(uintptr_t pc)
{
    struct rb_module_map file;

    if (!rb_module_find(pc, &file) || !file.entry)
        return false;
    const uint64_t start = file.from >> 12;
    const uint64_t key = rb_unwind_generation() << 48 | start << 12;
    uint64_t *place = &known[rb_hash(start, 32) % PLACES];
    uint64_t word = rb_load_relaxed(place);
    if (RB_UNLIKELY((word & ~(uint64_t)1) != key)) {
        word = key | is_instrumented(key);
        rb_store_relaxed(place, word);
    }
    return word & 1;
}

bool rb_caller_counts(uintptr_t pc)
{
    if (!rb_process.on || (rb_self_tls && rb_self_tls->busy))
        return false;
    const bool counts = rb_is_in_hooked_file(pc);
    rb_skip += !counts; // it was no access of the program
    return counts;
}

bool rb_frees(uintptr_t pc)
{
    return rb_is_in_hooked_file(pc) || rb_module_is_same(pc, (uintptr_t)RB_REAL(pthread_create));
}
#endif

RB_NOINLINE void rb_touch(const volatile void *address, size_t size, unsigned how, uintptr_t pc)
{
    const int saved = errno;

    rb_access_slow((uintptr_t)address, size, how, pc);
    errno = saved;
}

void rb_touch_pieces_now(const struct iovec *piece, size_t count, size_t bytes, unsigned how, uintptr_t pc)
{
    for (; bytes && count; piece++, count--) {
        const size_t n = piece->iov_len < bytes ? piece->iov_len : bytes;
        if (!rb_passes_odd() && rb_caller_counts(pc))
            rb_touch(piece->iov_base, n, how, pc);
        bytes -= n;
    }
}
