// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Counts atomic instructions in an object file, by decoding its sections of code from their begin. Every access stays
// within the file's bytes, for any contents.
#include "watch/code_table/code_table.h"

#include <Zydis/Zydis.h>
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool locks_memory(const ZydisDecodedInstruction *i)
{
    return i->attributes & ZYDIS_ATTRIB_HAS_LOCK ||
           (i->mnemonic == ZYDIS_MNEMONIC_XCHG && i->attributes & ZYDIS_ATTRIB_HAS_MODRM &&
            i->raw.modrm.mod != 3);
}

static size_t count_in_code(const ZydisDecoder *decoder, const uint8_t *code, size_t bytes)
{
    ZydisDecodedInstruction i;
    size_t count = 0;

    for (size_t at = 0; at < bytes;) {
        const bool decoded =
            ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(decoder, NULL, code + at, bytes - at, &i));
        count += decoded && locks_memory(&i);
        at += decoded ? i.length : 1;
    }
    return count;
}

static size_t count_in_object(const uint8_t *data, size_t bytes)
{
    const Elf64_Ehdr *h = (const void *)data;
    ZydisDecoder decoder;
    size_t count = 0;

    if (bytes < sizeof(*h) || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 ||
        h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_type != ET_REL || h->e_machine != EM_X86_64 ||
        h->e_shentsize != sizeof(Elf64_Shdr) || h->e_shoff > bytes)
        return 0;
    ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (size_t n = 0; n < h->e_shnum && (n + 1) * sizeof(Elf64_Shdr) <= bytes - h->e_shoff; n++) {
        Elf64_Shdr s; // a copy, for the file's need not be aligned
        memcpy(&s, data + h->e_shoff + n * sizeof(s), sizeof(s));
        if (s.sh_type == SHT_PROGBITS && s.sh_flags & SHF_EXECINSTR && s.sh_offset <= bytes &&
            s.sh_size <= bytes - s.sh_offset)
            count += count_in_code(&decoder, data + s.sh_offset, s.sh_size);
    }
    return count;
}

size_t rb_object_atomics(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    size_t count = 0;

    if (fd < 0)
        return 0;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        const size_t bytes = (size_t)status.st_size;
        void *data = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
        if (data != MAP_FAILED) {
            count = count_in_object(data, bytes);
            munmap(data, bytes);
        }
    }
    close(fd);
    return count;
}
