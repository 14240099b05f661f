// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The module that an address is in: the one answer inside other people's programs, in two steps. The first
// is for code that decides, the second for records that are read outside of this process.
//
//   rb_module_find, rb_module_headers, rb_module_is_same
//       Async-signal-safe and lock-free, by _dl_find_object (glibc 2.35): also in handlers, inside the
//       guard, in a child of fork, in a sandbox, and while this or another thread holds the loader's lock.
//       No allocation; errno is kept.
//   rb_module_of
//       Built on these. Async-signal-safe. A library that was opened by a relative name costs a look into
//       /proc/thread-self/maps, once, and a lock for the instant in which the name is kept. In a sandbox
//       the name stays relative. errno may change.
//
// dlopen and dlclose: the loader makes a module known before its constructors run, and unknown before it is
// unmapped. An answer says nothing of the next instant. So `entry`, the headers and `path` may be used while
// something keeps the module: a frame of its code on the stack, the caller's return address, a hold of the
// call sites (sites.h), the planting lock of `railbird watch`. Answers that are kept carry the generation of
// loaded files (unwind.h), which grows with every dlclose.
//
// Two neighbours answer other questions. dl_iterate_phdr lists all modules, under the loader's lock: not in
// handlers and not during a fork. rb_code_module_at (agent.h) finds a module that `railbird watch` has changed,
// in a table that is filled from rb_module_of.
#ifndef RB_INPROC_MODULES_H
#define RB_INPROC_MODULES_H

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include "base/types.h"
#include "inproc/host.h"

// A module's place in memory.
struct rb_module_map {
    uintptr_t from, to;           // its mapping; in a static program the code alone
    uintptr_t bias;               // address minus this is the file's own (ELF virtual) address
    const struct link_map *entry; // the loader's; NULL: none
};

// A module by name: makes a stack readable outside this process.
struct rb_module {
    const char *path;         // absolute, if that can be known
    uintptr_t from, to, bias; // as above
    char build_id[65];        // hex, or ""
};

// Finds the module that holds the address. Returns false if there is none.
RB_INLINE bool rb_module_find(uintptr_t address, struct rb_module_map *m)
{
    struct dl_find_object found;

    if (_dl_find_object((void *)address, &found))
        return false;
    m->from = (uintptr_t)found.dlfo_map_start;
    m->to = (uintptr_t)found.dlfo_map_end;
    m->entry = found.dlfo_link_map;
    m->bias = m->entry ? m->entry->l_addr : 0;
    return true;
}

// Returns true if both addresses are in one module.
RB_INLINE bool rb_module_is_same(uintptr_t a, uintptr_t b)
{
    struct rb_module_map of_a, of_b;

    return rb_module_find(a, &of_a) && rb_module_find(b, &of_b) && of_a.from == of_b.from;
}

// Returns the number of program headers, and the first one: those behind the ELF header at the start of the
// mapping. 0: there is none (the code of a static program), or they are not in the first page, as in files
// that a tool has edited.
RB_INLINE unsigned rb_module_headers(const struct rb_module_map *m, const ElfW(Phdr) * *first)
{
    const ElfW(Ehdr) *head = (const void *)m->from;
    const size_t page = 4096;

    if (m->from % page != 0 || m->to - m->from < page)
        return 0;
    if (head->e_ident[EI_MAG0] != ELFMAG0 || head->e_ident[EI_MAG1] != ELFMAG1 ||
        head->e_ident[EI_MAG2] != ELFMAG2 || head->e_ident[EI_MAG3] != ELFMAG3)
        return 0;
    if (head->e_phentsize != sizeof(**first) || head->e_phoff % 8 != 0 || head->e_phoff > page ||
        head->e_phoff + head->e_phnum * sizeof(**first) > page)
        return 0;
    *first = (const void *)(m->from + head->e_phoff);
    return head->e_phnum;
}

// Finds the module of an address, and its name. Returns false if it is in no file. `path` is valid until the
// module is unloaded.
RB_HIDDEN bool rb_module_of(uintptr_t address, struct rb_module *m);
// Returns the path of the program's own file.
RB_HIDDEN const char *rb_program_path(void);

#endif
