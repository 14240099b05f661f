// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The module of an address: against the loader's own list, in a handler, under the loader's lock, and with headers
// that must not be read.
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "inproc/modules.h"

static int some_data = 1;

// Compares a module of the loader's list with the answer for the first and last byte of each segment.
static int compare_module(struct dl_phdr_info *info, size_t size, void *of)
{
    const ElfW(Phdr) * header;
    struct rb_module_map m = {0};
    unsigned *segments = of;

    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const uintptr_t start = info->dlpi_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD || !p->p_memsz)
            continue;
        for (unsigned end = 0; end < 2; end++) {
            assert_true(rb_module_find(end ? start + p->p_memsz - 1 : start, &m));
            assert_int_equal(m.bias, info->dlpi_addr);
            assert_true(m.from <= start && start + p->p_memsz <= m.to);
            assert_non_null(m.entry);
        }
        assert_int_equal(rb_module_headers(&m, &header), info->dlpi_phnum);
        assert_memory_equal(header, info->dlpi_phdr, info->dlpi_phnum * sizeof(*header));
        assert_true(rb_module_is_same(start, start + p->p_memsz - 1));
        ++*segments;
    }
    return 0;
}

static void agrees_with_the_loader(void **state)
{
    unsigned segments = 0;

    (void)state;
    dl_iterate_phdr(compare_module, &segments); // under the loader's lock
    assert_true(segments > 4);
    assert_true(rb_module_is_same((uintptr_t)&some_data, (uintptr_t)agrees_with_the_loader));
    assert_false(rb_module_is_same((uintptr_t)&some_data, (uintptr_t)dl_iterate_phdr));
}

static volatile sig_atomic_t found_in_handler;

static void find_in_handler(int signal)
{
    struct rb_module_map m = {0};

    (void)signal;
    errno = 4711;
    found_in_handler = rb_module_find((uintptr_t)&some_data, &m) && !rb_module_find(8, &m) && errno == 4711;
}

static int raise_inside(struct dl_phdr_info *info, size_t size, void *of)
{
    (void)info, (void)size, (void)of;
    raise(SIGUSR1);
    return 1;
}

static void works_in_a_handler_under_the_lock(void **state)
{
    (void)state;
    signal(SIGUSR1, find_in_handler);
    dl_iterate_phdr(raise_inside, NULL);
    assert_true(found_in_handler);
    signal(SIGUSR1, SIG_DFL);
}

static void addresses_in_no_file(void **state)
{
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int local = 0;
    struct rb_module named;
    struct rb_module_map m = {0};

    (void)state;
    assert_ptr_not_equal(page, MAP_FAILED);
    assert_false(rb_module_find((uintptr_t)page, &m));
    assert_false(rb_module_find((uintptr_t)&local, &m));
    assert_false(rb_module_of((uintptr_t)page, &named));
    assert_false(rb_module_is_same((uintptr_t)page, (uintptr_t)page));
    munmap(page, 4096);
}

// The header page of the program, changed in one field.
static void headers_that_are_not_read(void **state)
{
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ElfW(Ehdr) *head = (void *)page;
    const ElfW(Phdr) * first;
    struct rb_module_map m = {0};

    (void)state;
    assert_ptr_not_equal(page, MAP_FAILED);
    assert_true(rb_module_find((uintptr_t)&some_data, &m));
    const ElfW(Ehdr) whole = *(const ElfW(Ehdr) *)m.from;
    m = (struct rb_module_map){(uintptr_t)page, (uintptr_t)page + 4096, 0, NULL};
    *head = whole;
    assert_int_equal(rb_module_headers(&m, &first), whole.e_phnum);
    assert_ptr_equal(first, page + whole.e_phoff);
    head->e_phoff = 4096; // beyond the first page
    assert_int_equal(rb_module_headers(&m, &first), 0);
    head->e_phoff = UINT64_MAX - 7; // the sum overflows
    assert_int_equal(rb_module_headers(&m, &first), 0);
    *head = whole;
    head->e_phnum = 100; // more than the page holds
    assert_int_equal(rb_module_headers(&m, &first), 0);
    *head = whole;
    head->e_ident[EI_MAG3] = 'G';
    assert_int_equal(rb_module_headers(&m, &first), 0);
    *head = whole;
    m.to--;
    assert_int_equal(rb_module_headers(&m, &first), 0);
    munmap(page, 4096);
}

static void has_a_name(void **state)
{
    char program[4096];
    const ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
    struct rb_module own, libc;
    struct rb_module_map m = {0};

    (void)state;
    assert_true(n > 0);
    program[n] = 0;
    assert_true(rb_module_of((uintptr_t)&some_data, &own));
    assert_string_equal(own.path, program);
    assert_true(rb_module_find((uintptr_t)&some_data, &m));
    assert_true(own.from == m.from && own.to == m.to && own.bias == m.bias);
    assert_true(rb_module_of((uintptr_t)dl_iterate_phdr, &libc));
    assert_int_equal(libc.path[0], '/');
    assert_true(strlen(libc.build_id) >= 16); // each distribution's libc has one
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_loader),
        cmocka_unit_test(works_in_a_handler_under_the_lock),
        cmocka_unit_test(addresses_in_no_file),
        cmocka_unit_test(headers_that_are_not_read),
        cmocka_unit_test(has_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
