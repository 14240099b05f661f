// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "run/sites/patch.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "inproc/modules.h"

#define PAGE 4096u
#define SPAN (4u << 20) // code that is made writable at once

bool rb_patch_find(uintptr_t from, uintptr_t to, struct rb_patch_text *t)
{
    struct rb_module_map file;
    const ElfW(Phdr) * p;

    const unsigned count = rb_module_find(from, &file) && file.entry ? rb_module_headers(&file, &p) : 0;
    for (unsigned i = 0; i < count; i++) {
        if (p[i].p_type != PT_LOAD || !(p[i].p_flags & PF_X) || !(p[i].p_flags & PF_R))
            continue;
        t->start = file.bias + p[i].p_vaddr;
        t->end = t->start + p[i].p_filesz;
        t->from = t->start & ~(uintptr_t)(PAGE - 1);
        t->to = (t->end + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
        t->protection = PROT_READ | PROT_EXEC | (p[i].p_flags & PF_W ? PROT_WRITE : 0);
        if (from < t->to && to > t->from)
            return true;
    }
    return false;
}

bool rb_patch_protect(const struct rb_patch_text *t, int protection)
{
    return syscall(SYS_mprotect, t->from, t->to - t->from, protection) == 0;
}

struct rb_patch_text rb_patch_span(const struct rb_patch_text *text, uintptr_t pc)
{
    struct rb_patch_text t = *text;

    if (t.to - t.from <= SPAN)
        return t;
    const uintptr_t from = (pc - SPAN / 2) & ~(uintptr_t)(PAGE - 1);
    if (from > t.from)
        t.from = from;
    if (t.to > t.from + SPAN)
        t.to = t.from + SPAN;
    return t;
}
