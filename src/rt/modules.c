#include "rt/modules.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

static char program[4096];

const char *rb_program_path(void)
{
    if (!program[0]) {
        const ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
        program[n > 0 ? n : 0] = 0;
    }
    return program;
}

// Notes are at most a page or two; a build-id is 20 bytes as a rule, 32 at most here.
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

bool rb_module_of(uintptr_t address, struct rb_module *m)
{
    struct dl_find_object found;

    m->build_id[0] = 0;
    if (_dl_find_object((void *)address, &found) || !found.dlfo_link_map)
        return false;
    m->path = found.dlfo_link_map->l_name;
    if (!m->path || !m->path[0])
        m->path = rb_program_path();
    m->bias = found.dlfo_link_map->l_addr;
    const ElfW(Ehdr) *head = found.dlfo_map_start;
    if (head->e_ident[0] != ELFMAG0 || head->e_ident[1] != ELFMAG1 || head->e_phentsize != sizeof(ElfW(Phdr)))
        return true; // the vdso, or a first segment without the file's head
    const ElfW(Phdr) *segment = (const void *)((const char *)head + head->e_phoff);
    for (unsigned i = 0; i < head->e_phnum && !m->build_id[0]; i++)
        if (segment[i].p_type == PT_NOTE)
            read_build_id((const char *)(m->bias + segment[i].p_vaddr), segment[i].p_memsz, m->build_id);
    return true;
}
