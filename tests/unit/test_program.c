// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What kind of program a file is: files of each kind made by hand, and that no damaged file leads out of its
// bounds (which AddressSanitizer would see: each variant is in memory of exactly its size).
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "cmd/launch/program.c" // the tool's commands are no library

// A small ELF file: header, two segments, symbols, their names, the dynamic section, section headers.
struct image {
    Elf64_Ehdr header;
    Elf64_Phdr segment[2];
    Elf64_Sym symbol[3];
    Elf64_Dyn dynamic[2];
    char names[128];
    Elf64_Shdr section[4];
};

#define AT(field) offsetof(struct image, field)

// `symbol` defined or not, `needed` as a library; "" for none of them.
static void make(struct image *m, const char *symbol, bool defined, const char *needed, bool loader)
{
    memset(m, 0, sizeof(*m));
    memcpy(m->header.e_ident, ELFMAG, SELFMAG);
    m->header.e_ident[EI_CLASS] = ELFCLASS64;
    m->header.e_machine = EM_X86_64;
    m->header.e_phoff = AT(segment);
    m->header.e_phnum = 2;
    m->header.e_phentsize = sizeof(Elf64_Phdr);
    m->header.e_shoff = AT(section);
    m->header.e_shnum = 4;
    m->header.e_shentsize = sizeof(Elf64_Shdr);
    m->segment[1].p_type = loader ? PT_INTERP : PT_NOTE;
    strcpy(m->names + 1, "main");
    strcpy(m->names + 8, symbol);
    strcpy(m->names + 64, needed);
    m->symbol[1] = (Elf64_Sym){.st_name = *symbol ? 1 : 0, .st_shndx = 1};
    m->symbol[2] = (Elf64_Sym){.st_name = *symbol ? 8 : 0, .st_shndx = defined ? 1 : SHN_UNDEF};
    if (*needed)
        m->dynamic[0] = (Elf64_Dyn){.d_tag = DT_NEEDED, .d_un.d_val = 64};
    m->section[1] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                                 .sh_offset = AT(symbol),
                                 .sh_size = sizeof(m->symbol),
                                 .sh_link = 3};
    m->section[2] = (Elf64_Shdr){.sh_type = SHT_DYNAMIC,
                                 .sh_offset = AT(dynamic),
                                 .sh_size = sizeof(m->dynamic),
                                 .sh_link = 3};
    m->section[3] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = AT(names), .sh_size = sizeof(m->names)};
}

static struct program seen_as(const void *bytes, size_t size)
{
    struct program p = {.kind = PROGRAM_OTHER};
    char *copy = malloc(size ? size : 1); // at its end, ASan's

    assert_non_null(copy);
    memcpy(copy, bytes, size);
    classify_file(&(struct file){copy, size}, &p);
    free(copy);
    return p;
}

static void kinds(void **state)
{
    static const struct {
        const char *symbol;
        bool defined;
        const char *needed;
        enum program_kind kind;
    } cases[] = {
        {"puts", false, "libc.so.6", PROGRAM_PLAIN},
        {"__tsan_init", false, "libtsan.so.2", PROGRAM_SHARED},
        {"__tsan_read4", false, "libclang_rt.tsan-x86_64.so", PROGRAM_SHARED},
        {"puts", false, "libclang_rt.tsan.so", PROGRAM_SHARED},
        {"__tsan_write8", false, "", PROGRAM_SHARED},
        {"__tsan_volatile_read4", true, "", PROGRAM_SHARED}, // the program's own
        {"__tsan_init", true, "libc.so.6", PROGRAM_STATIC},
        {"__railbird_runtime", true, "libc.so.6", PROGRAM_OURS},
        {"__railbird_runtime", false, "", PROGRAM_PLAIN},
        {"__tsan_read4", false, "librailbird_rt.so", PROGRAM_OURS},
        {"", false, "", PROGRAM_PLAIN},
    };
    struct image m;

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(cases); i++)
        for (int loader = 0; loader < 2; loader++) {
            make(&m, cases[i].symbol, cases[i].defined, cases[i].needed, loader);
            const struct program p = seen_as(&m, sizeof(m));
            assert_int_equal(p.kind, cases[i].kind);
            assert_int_equal(p.loader, loader);
            assert_string_equal(p.needed, strstr(cases[i].needed, "tsan") ? cases[i].needed : "");
        }
    // stripped: the runtime's own words
    make(&m, "", false, "", false);
    memcpy(m.names + 90, "RAILBIRD_OPTIONS", 16);
    assert_int_equal(seen_as(&m, sizeof(m)).kind, PROGRAM_OURS);
    // but not where there are symbols, which know better
    make(&m, "puts", false, "", false);
    memcpy(m.names + 90, "RAILBIRD_OPTIONS", 16);
    assert_int_equal(seen_as(&m, sizeof(m)).kind, PROGRAM_PLAIN);
}

static void others(void **state)
{
    struct image m;

    (void)state;
    assert_int_equal(seen_as("#!/bin/sh\n", 10).kind, PROGRAM_OTHER);
    assert_int_equal(seen_as("", 0).kind, PROGRAM_OTHER);
    assert_int_equal(seen_as(ELFMAG, SELFMAG).kind, PROGRAM_OTHER);
    make(&m, "puts", false, "", true);
    m.header.e_ident[EI_CLASS] = ELFCLASS32;
    assert_int_equal(seen_as(&m, sizeof(m)).kind, PROGRAM_FOREIGN);
    make(&m, "puts", false, "", true);
    m.header.e_machine = EM_AARCH64;
    assert_int_equal(seen_as(&m, sizeof(m)).kind, PROGRAM_FOREIGN);
    struct program p;
    program_look("/nonexistent", &p);
    assert_int_equal(p.kind, PROGRAM_OTHER);
    program_look("/", &p);
    assert_int_equal(p.kind, PROGRAM_OTHER);
    program_look("/proc/self/exe", &p); // this test; sanitizers' builds of it have hooks of another kind
    assert_true(p.kind == PROGRAM_PLAIN);
    assert_true(p.loader);
}

static void damaged(void **state)
{
    static const uint64_t awkward[] = {0,   1,   7,      8,          63,         64,
                                       127, 128, 0xffff, UINT32_MAX, UINT64_MAX, UINT64_MAX / 24};
    struct rb_rng rng;
    struct image m;

    (void)state;
    rb_rng_seed(&rng, 5);
    for (int round = 0; round < 50000; round++) {
        make(&m, round % 2 ? "__tsan_init" : "__railbird_runtime", round % 3, "libtsan.so.2", true);
        for (uint64_t changes = 1 + rb_rng_below(&rng, 3); changes > 0; changes--) {
            const uint64_t value = awkward[rb_rng_below(&rng, RB_LENGTH(awkward))];
            const size_t width = (size_t)1 << rb_rng_below(&rng, 4);
            const size_t place = (size_t)rb_rng_below(&rng, (sizeof(m) - SELFMAG) / width) * width;
            memcpy((char *)&m + SELFMAG + (place / width) * width, &value,
                   width <= sizeof(m) - SELFMAG - place ? width : 1);
        }
        seen_as(&m, round % 5 ? sizeof(m) : (size_t)rb_rng_below(&rng, sizeof(m)));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kinds), cmocka_unit_test(others),
                                       cmocka_unit_test(damaged)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
