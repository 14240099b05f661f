// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Hooks at atomic instructions: every form of rmw_cases.S runs with and without its hook, with one thread and
// with others beside. Registers, flags, stack and memory must be the same, and the hooks must see the operand
// before and after. Then threads run through code that is hooked, paused and restored under them.
// RB_TEST_SECONDS: of the last part.
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "inproc/tool.h"
#include "rmw_library.h"

#define LIBRARY 7u
#define MEMORY  4096u
#define ROUNDS  200u

// ---- what the hooks see --------------------------------------------------------------------------------

static struct library lib;
static volatile double inexact = 1.0;     // a division sets a bit of mxcsr
static bool spoils_wide, quick, counting; // `counting`: threads run, nothing but numbers is kept
static struct {
    unsigned before, after, library;
    uintptr_t address[2];
    unsigned char memory[2][MEMORY];
} seen;
static uint64_t befores, afters;

static void spoil_registers(void)
{
    __asm__ volatile(
        "vpcmpeqd %%ymm0, %%ymm0, %%ymm0; vpcmpeqd %%ymm1, %%ymm1, %%ymm1; vpxor %%ymm2, %%ymm2, %%ymm2;"
        "vpxor %%ymm3, %%ymm3, %%ymm3; vpxor %%ymm4, %%ymm4, %%ymm4; vpxor %%ymm5, %%ymm5, %%ymm5;"
        "vpxor %%ymm6, %%ymm6, %%ymm6; vpxor %%ymm7, %%ymm7, %%ymm7; vpxor %%ymm8, %%ymm8, %%ymm8;"
        "vpxor %%ymm9, %%ymm9, %%ymm9; vpxor %%ymm10, %%ymm10, %%ymm10; vpxor %%ymm11, %%ymm11, %%ymm11;"
        "vpxor %%ymm12, %%ymm12, %%ymm12; vpxor %%ymm13, %%ymm13, %%ymm13; vpxor %%ymm14, %%ymm14, %%ymm14;"
        "vpxor %%ymm15, %%ymm15, %%ymm15;"
        "mov $-1, %%rax; mov %%rax, %%rcx; mov %%rax, %%rdx; mov %%rax, %%rsi; mov %%rax, %%rdi;"
        "mov %%rax, %%r8; mov %%rax, %%r9; mov %%rax, %%r10; mov %%rax, %%r11; add %%rax, %%rax"
        :
        :
        : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "cc", "memory", "xmm0", "xmm1", "xmm2",
          "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14",
          "xmm15");
}

__attribute__((target("avx512f,avx512bw"))) static void spoil_wide_registers(void)
{
    __asm__ volatile("vpternlogd $255, %%zmm0, %%zmm0, %%zmm0; vpternlogd $255, %%zmm7, %%zmm7, %%zmm7;"
                     "vpternlogd $255, %%zmm15, %%zmm15, %%zmm15; vpternlogd $255, %%zmm16, %%zmm16, %%zmm16;"
                     "vpternlogd $255, %%zmm23, %%zmm23, %%zmm23; vpternlogd $255, %%zmm31, %%zmm31, %%zmm31;"
                     "kxnorq %%k1, %%k1, %%k1; kxnorq %%k5, %%k5, %%k5; kxorq %%k7, %%k7, %%k7"
                     :
                     :
                     : "memory", "xmm0", "xmm7", "xmm15", "xmm16", "xmm23", "xmm31", "k1", "k5", "k7");
}

static void note(unsigned which, unsigned library, uintptr_t address)
{
    rb_fetch_add_relaxed(which ? &afters : &befores, 1);
    if (!counting) {
        seen.library = library;
        seen.address[which] = address;
        memcpy(seen.memory[which], lib.memory, MEMORY);
        *(which ? &seen.after : &seen.before) += 1;
    }
    spoil_registers();
    if (spoils_wide)
        spoil_wide_registers();
    inexact = inexact / 3.0;
}

void rb_unseen_before(unsigned library, uintptr_t address)
{
    note(0, library, address);
}

void rb_unseen_after(unsigned library, uintptr_t address)
{
    note(1, library, address);
}

bool rb_unseen_quick(unsigned library, bool after)
{
    (void)library;
    (void)after;
    __asm__ volatile("mov $-1, %%rcx; mov %%rcx, %%rdx; mov %%rcx, %%r8; mov %%rcx, %%r9; mov %%rcx, %%r10;"
                     "mov %%rcx, %%r11; add %%rcx, %%rcx"
                     :
                     :
                     : "rcx", "rdx", "r8", "r9", "r10", "r11", "cc");
    return quick;
}

// ---- every form ----------------------------------------------------------------------------------------

static void fill_machine(struct rb_rng *rng, struct machine *m)
{
    static const uint64_t flags[] = {1, 4, 0x10, 0x40, 0x80, 0x800, 0x400};
    uint64_t *word = (uint64_t *)m;

    for (size_t i = 0; i < sizeof(*m) / 8; i++)
        word[i] = rb_rng_next(rng);
    m->flags = 0x202;
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        m->flags |= rb_rng_next(rng) % 2 ? flags[i] : 0;
    m->reg[1] = rb_rng_next(rng) % 2 * 4;
    m->reg[7] = (uintptr_t)lib.memory + 512; // rdi, rsi, r12 to r15
    m->reg[6] = (uintptr_t)lib.memory + 1024;
    for (unsigned i = 12; i < 16; i++)
        m->reg[i] = (uintptr_t)lib.memory + 128 * i;
    m->reg[10] = rb_rng_next(rng) % 1024 - 512;
    m->reg[11] = rb_rng_next(rng) % 1024 - 512;
    if (rb_rng_next(rng) % 2) { // what cmpxchg compares with: registers, memory and stack
        m->reg[0] = m->reg[2] = 0;
        memset(m->red, 0, sizeof(m->red));
        memset(m->above, 0, sizeof(m->above));
    }
}

static void fill_memory(struct rb_rng *rng, const struct machine *m)
{
    for (unsigned i = 0; i < MEMORY; i += 8) {
        const uint64_t word = m->reg[0] ? rb_rng_next(rng) : 0;
        memcpy(lib.memory + i, &word, sizeof(word));
    }
}

static uint64_t mix_hash(uint64_t h, const void *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ ((const unsigned char *)data)[i]) * UINT64_C(0x100000001b3);
    return h;
}

// Runs a case. Returns a hash of all that it has left: registers, flags, stack, memory.
static uint64_t run_case(const struct rmw_case *c, const struct machine *in, const unsigned char *memory)
{
    *lib.in = *in;
    memcpy(lib.memory, memory, MEMORY);
    memset(&seen, 0, sizeof(seen));
    errno = 4711;
    c->run();
    assert_int_equal(errno, 4711);
    return mix_hash(mix_hash(1, lib.out, sizeof(*lib.out)), lib.memory, MEMORY);
}

static uintptr_t address_of_case(const struct rmw_case *c, const struct machine *in)
{
    *lib.in = *in;
    c->address();
    if (c->bit < 0)
        return *lib.address;
    const int64_t bit = c->scale == 4   ? (int16_t)in->reg[c->bit]
                        : c->scale == 5 ? (int32_t)in->reg[c->bit]
                                        : (int64_t)in->reg[c->bit];
    return *lib.address + (uintptr_t)((bit >> c->scale) * (1 << (c->scale - 3)));
}

enum mode { MODE_HOOKED, MODE_QUICK, MODE_PAUSED, MODE_LATE };

// Checks the calls of the hooks in one run. Operands on the stack are not at one place in both functions.
static void check_calls(const struct rmw_case *c, const struct machine *in, const unsigned char *memory)
{
    const bool two = strchr(c->name, 'd') && seen.before == 2; // "lock decl" with another behind it
    const unsigned calls = two ? 2 : 1;

    if (seen.before != calls || seen.after != calls || seen.library != LIBRARY)
        fail_msg("%s: %u calls before, %u after", c->name, seen.before, seen.after);
    if (two)
        return;
    if (memcmp(seen.memory[0], memory, MEMORY) != 0)
        fail_msg("%s: the hook is not before the instruction", c->name);
    if (memcmp(seen.memory[1], lib.memory, MEMORY) != 0)
        fail_msg("%s: the hook is not behind the instruction", c->name);
    const uintptr_t address = address_of_case(c, in);
    if (seen.address[0] != address || seen.address[1] != address)
        fail_msg("%s: address %lx and %lx instead of %lx", c->name, seen.address[0], seen.address[1],
                 address);
}

// Makes each int3 as good as new: one that comes often is given up.
static void cool_down(void)
{
    struct rb_rmw_module *m = &rb_rmw_module[rb_rmw_module_count - 1];

    for (uint32_t i = 0; i < m->sites; i++)
        m->site[i].hits = 0;
}

// Runs all forms, and compares with the outcomes without hooks; `fill`: these are made now.
static void test_forms(uint64_t *expected, bool fill, enum mode mode)
{
    static unsigned char memory[MEMORY];
    struct rb_rng rng;
    struct machine in;

    for (const struct rmw_case *c = lib.first; c < lib.end; c++) {
        rb_rng_seed(&rng, 17); // the same each time
        for (unsigned i = 0; i < ROUNDS; i++) {
            fill_machine(&rng, &in);
            fill_memory(&rng, &in);
            memcpy(memory, lib.memory, MEMORY);
            if (!fill)
                cool_down();
            const uint64_t lost = lost_edges, outcome = run_case(c, &in, memory);
            if (fill)
                *expected = outcome;
            if (*expected++ != outcome)
                fail_msg("%s differs from the instruction without a hook (mode %d)", c->name, (int)mode);
            if (fill)
                continue;
            if (mode == MODE_HOOKED)
                check_calls(c, &in, memory);
            else if (seen.before || seen.after)
                fail_msg("%s: the hooks are called (mode %d)", c->name, (int)mode);
            if (mode == MODE_LATE ? lost_edges == lost : lost_edges != lost)
                fail_msg("%s: edges lost (mode %d)", c->name, (int)mode);
        }
    }
}

static void test_modes(uint64_t *expected)
{
    test_forms(expected, false, MODE_HOOKED);
    quick = true;
    test_forms(expected, false, MODE_QUICK);
    quick = false;
    rb_rmw_switch(false);
    test_forms(expected, false, MODE_PAUSED);
    rb_rmw_switch(true);
    // tracking begins between the first jump of a cell and the instruction
    struct rb_rmw_module *m = &rb_rmw_module[rb_rmw_module_count - 1];
    for (uint32_t i = 0; i < m->sites; i++)
        m->slot[i].way = rb_rmw_cell_ways(rb_rmw_cell_of_site(m, &m->site[i]), &m->site[i], false).way;
    test_forms(expected, false, MODE_LATE);
    rb_rmw_switch(true);
    rb_process.paused = RB_PAUSED;
    test_forms(expected, false, MODE_QUICK);
    rb_process.paused = 0;
}

static void *wait_for_end(void *end)
{
    while (!rb_load_acquire((bool *)end))
        usleep(1000);
    return NULL;
}

static uint64_t *expected;

static void forms_with_one_thread(void **state)
{
    struct rb_rmw_counts counts;
    size_t bytes;

    (void)state;
    open_library(&lib, RMW_CASES);
    expected = calloc((size_t)(lib.end - lib.first) * ROUNDS, sizeof(*expected));
    assert_true(lib.end - lib.first > 150);
    test_forms(expected, true, MODE_HOOKED);
    unsigned char *copy = copy_code(&lib, &bytes);
    assert_int_equal(rb_rmw_hook_module(LIBRARY, lib.module.bias, &lib.table), 0);
    rb_rmw_count(&counts);
    assert_int_equal(counts.refused, 0);
    assert_int_equal(counts.jumps - counts.moved, lib.table.header->with_room);
    assert_int_equal(counts.moved, lib.table.header->with_moves);
    assert_true(counts.moved > 30 && counts.traps >= 4);
    assert_false(is_code(&lib, copy, bytes));
    assert_int_equal(protection_of(lib.xadd), 5);
    test_modes(expected);
    rb_rmw_restore_all();
    assert_true(is_code(&lib, copy, bytes));
    assert_int_equal(protection_of(lib.xadd), 5);
    test_forms(expected, false, MODE_QUICK);
    rb_rmw_forget_module(LIBRARY);
    free(copy);
    close_library(&lib);
}

// Bytes behind an instruction stay where they are then.
static void forms_beside_a_thread(void **state)
{
    struct rb_rmw_counts before, after;
    bool end = false;
    pthread_t thread;
    size_t bytes;

    (void)state;
    open_library(&lib, RMW_CASES);
    assert_int_equal(pthread_create(&thread, NULL, wait_for_end, &end), 0);
    test_forms(expected, true, MODE_HOOKED);
    unsigned char *copy = copy_code(&lib, &bytes);
    rb_rmw_count(&before);
    assert_int_equal(rb_rmw_hook_module(LIBRARY, lib.module.bias, &lib.table), 0);
    rb_rmw_count(&after);
    assert_int_equal(after.moved, before.moved);
    assert_int_equal(after.jumps - before.jumps, lib.table.header->with_room);
    test_modes(expected);
    uint32_t word = 0;
    for (unsigned i = 0; i < 1000; i++)
        lib.trapped(&word, 1);
    assert_int_equal(word, 1000);
    rb_rmw_count(&after);
    assert_true(after.given_up == 1); // an int3 that comes too often
    rb_rmw_restore_all();
    assert_true(is_code(&lib, copy, bytes));
    rb_store_release(&end, true);
    pthread_join(thread, NULL);
    rb_rmw_forget_module(LIBRARY);
    free(copy);
    close_library(&lib);
    free(expected);
}

// All of AVX-512, in use and not: values stay, and zeroes stay zeroes.
static void wide_registers(void **state)
{
    static unsigned char in[2176], out[2176], bare[2176];
    struct rb_rng rng;
    void (*wide)(const void *from, void *to), (*narrow)(void *to);

    (void)state;
    if (!__builtin_cpu_supports("avx512bw"))
        skip();
    open_library(&lib, RMW_CASES);
    *(void **)&wide = dlsym(lib.handle, "rmw_wide");
    *(void **)&narrow = dlsym(lib.handle, "rmw_narrow");
    rb_rng_seed(&rng, 11);
    for (unsigned i = 0; i < 2112; i++)
        in[i] = (unsigned char)rb_rng_next(&rng);
    __builtin_ia32_ldmxcsr(0x1f80);
    wide(in, bare);
    assert_int_equal(rb_rmw_hook_module(LIBRARY, lib.module.bias, &lib.table), 0);
    for (unsigned i = 0; i < 4; i++) {
        spoils_wide = true;
        narrow(out);
        for (unsigned k = 0; k < 2112; k++)
            assert_int_equal(out[k], 0);
        __builtin_ia32_ldmxcsr(0x1f80);
        wide(in, out);
        assert_memory_equal(out, in, 2112);
        assert_memory_equal(out, bare, 2116);
    }
    spoils_wide = false;
    rb_rmw_restore_all();
    rb_rmw_forget_module(LIBRARY);
    close_library(&lib);
}

// ---- refusals ------------------------------------------------------------------------------------------

// Other code than the table's is left alone: a breakpoint of a debugger, another version.
static void refuses_other_code(void **state)
{
    struct rb_rmw_counts before, after;
    size_t bytes;

    (void)state;
    open_library(&lib, RMW_CASES);
    unsigned char *copy = copy_code(&lib, &bytes);
    const uint32_t rows = lib.image->rows;
    struct rb_rmw_row *row = (void *)(lib.image + 1);
    for (uint32_t i = 0; i < rows; i++)
        row[i].bytes[row[i].taken - 1] ^= 0x10;
    rb_rmw_count(&before);
    assert_int_equal(rb_rmw_hook_module(LIBRARY, lib.module.bias, &lib.table), -ENOEXEC);
    assert_int_equal(rb_rmw_hook_module(LIBRARY, lib.module.bias + 1, &lib.table), -ENOEXEC);
    rb_rmw_count(&after);
    before.refused += 2 * (uint64_t)rows;
    assert_memory_equal(&before, &after, sizeof(before));
    assert_true(is_code(&lib, copy, bytes));
    free(copy);
    close_library(&lib);
}

// A kernel that lets no page become code, or writable code: nothing is changed. In a child, as that is for good.
static void refused_by_the_kernel(void **state)
{
    enum { SET_MDWE = 65, REFUSE_EXEC_GAIN = 1 };
    int status = 1;

    (void)state;
    open_library(&lib, RMW_CASES);
    const pid_t child = fork();
    if (!child) {
        size_t bytes;
        const unsigned char *copy = copy_code(&lib, &bytes);
        if (prctl(SET_MDWE, REFUSE_EXEC_GAIN, 0L, 0L, 0L) != 0)
            _exit(77);
        if (rb_rmw_hook_module(LIBRARY, lib.module.bias, &lib.table) != -EACCES)
            _exit(1);
        lib.xadd();
        _exit(is_code(&lib, copy, bytes) && protection_of(lib.xadd) == 5 ? 0 : 2);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status));
    close_library(&lib);
    if (WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(status), 0);
}

// Each planted fault of a table is seen.
static void refuses_bad_tables(void **state)
{
    struct rb_rmw_table t;
    struct rb_rng rng;

    (void)state;
    open_library(&lib, RMW_CASES);
    const size_t bytes = lib.image->file_bytes;
    unsigned char *copy = malloc(bytes);
    struct rb_rmw_header *h = (void *)copy;
    rb_rng_seed(&rng, 5);
    for (unsigned i = 0; i < 20000; i++) {
        memcpy(copy, lib.image, bytes);
        copy[rb_rng_next(&rng) % bytes] ^= (unsigned char)(1u << rb_rng_next(&rng) % 8);
        assert_non_null(rb_rmw_table_check(&t, copy, bytes, NULL, 0));
        if (h->rows != lib.image->rows)
            continue;
        h->checksum = rb_rmw_checksum(h); // a hostile one: what is accepted must do no harm
        rb_rmw_table_check(&t, copy, bytes, NULL, 0);
    }
    for (size_t cut = 0; cut < bytes; cut += 7) {
        memcpy(copy, lib.image, bytes);
        assert_non_null(rb_rmw_table_check(&t, copy, cut, NULL, 0));
    }
    free(copy);
    close_library(&lib);
}

// ---- the cache -----------------------------------------------------------------------------------------

// A table that is not there is made in the background, and found soon. One that others may write is refused.
static void finds_tables(void **state)
{
    char folder[] = "/tmp/rmw_cache_XXXXXX", path[4300];
    struct rb_rmw_table t;

    (void)state;
    assert_non_null(mkdtemp(folder));
    setenv("XDG_CACHE_HOME", folder, 1);
    setenv("RAILBIRD_TOOL", RMW_TOOL, 1);
    open_library(&lib, RMW_CASES);
    struct rb_module m = {.path = RMW_CASES, .bias = lib.module.bias};
    for (uint32_t i = 0; i < lib.image->build_id_bytes; i++)
        sprintf(m.build_id + 2 * i, "%02x", lib.image->build_id[i]);
    assert_int_equal(rb_rmw_table_find(&m, &t), -ENOENT);
    for (unsigned i = 0; i < 3000 && rb_rmw_table_find(&m, &t) != 0; i++)
        usleep(10000);
    assert_non_null(t.header);
    assert_int_equal(t.header->file_bytes, lib.image->file_bytes);
    assert_memory_equal(t.header, lib.image, lib.image->file_bytes);
    rb_rmw_table_close(&t);
    assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1); // no child is left

    assert_true(rb_table_path(m.build_id, ".rmw", path, sizeof(path)));
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(rb_rmw_table_find(&m, &t), -ENOENT);
    assert_int_equal(chmod(path, 0644), 0);
    assert_int_equal(rb_rmw_table_find(&m, &t), 0);
    rb_rmw_table_close(&t);
    close_library(&lib);
    assert_int_equal(unlink(path), 0);
    for (char *slash = strrchr(path, '/'); strlen(path) > strlen(folder); slash = strrchr(path, '/')) {
        *slash = 0;
        assert_int_equal(rmdir(path), 0);
    }
}

// ---- threads -------------------------------------------------------------------------------------------

#define THREADS 3u

static bool over;
static uint32_t word[4];
static uint64_t sums[THREADS + 1], handled, deep, in_cells;

static void on_signal(int number, siginfo_t *info, void *given)
{
    ucontext_t *context = given;
    struct rb_rmw_place place;
    void *frame[64];
    unsigned offset;
    const int saved = errno;

    (void)number;
    (void)info;
    rb_rmw_show_place(context, &place);
    if (rb_rmw_site_of_cell((uintptr_t)context->uc_mcontext.gregs[REG_RIP], &offset))
        abort();
    rb_fetch_add_relaxed(&deep, (uint64_t)(backtrace(frame, 64) > 3));
    rb_fetch_add_relaxed(&in_cells, (uint64_t)place.in_cell);
    rb_fetch_add_relaxed(&handled, 1);
    rb_rmw_hide_place(context, &place);
    errno = saved;
}

static void *run_library(void *number)
{
    const struct library *l = &lib;
    uint64_t turns = 0;

    while (!rb_load_acquire(&over)) {
        for (unsigned i = 0; i < 50; i++) {
            l->increment(&word[0]);
            l->decrement(&word[1]);
            l->xadd();
        }
        l->trapped(&word[2], 2);
        turns++;
    }
    sums[(uintptr_t)number] = turns;
    return NULL;
}

// A fork, whose child goes through the same code with its hooks.
static void fork_once(void)
{
    const pid_t child = fork();
    int status = 1;

    if (!child) {
        uint32_t own[2] = {0, 5};
        for (unsigned i = 0; i < 100; i++)
            lib.increment(&own[0]);
        for (unsigned i = 0; i < 5; i++)
            lib.decrement(&own[1]);
        lib.trapped(&own[0], 3);
        rb_rmw_end_traps();
        const uint64_t before = traps;
        lib.trapped(&own[1], 3);
        if (traps != before || rb_rmw_hook_module(LIBRARY + 2, lib.module.bias, &lib.table) != -EPERM)
            _exit(2);
        rb_rmw_restore_all();
        lib.increment(&own[0]);
        _exit(own[0] != 102 || own[1] != 1);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_int_equal(status, 0);
}

// Another copy of the library comes, is hooked, and goes, beside the threads.
static void load_once(void)
{
    struct library other;
    uint32_t own = 0;

    open_library(&other, RMW_CASES_COPY);
    assert_int_equal(rb_rmw_hook_module(LIBRARY + 1, other.module.bias, &other.table), 0);
    for (unsigned i = 0; i < 100; i++)
        other.increment(&own);
    assert_int_equal(own, 100);
    close_library(&other);
    rb_rmw_forget_module(LIBRARY + 1);
}

static double seconds_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void change_beneath(const pthread_t *thread, double seconds)
{
    struct rb_rng rng;

    rb_rng_seed(&rng, 3);
    for (const double end = seconds_now() + seconds; seconds_now() < end;) {
        const unsigned what = (unsigned)(rb_rng_next(&rng) % 16);
        if (what == 0)
            fork_once();
        else if (what == 1)
            load_once();
        else if (what < 6)
            rb_rmw_switch(what & 1);
        else
            pthread_kill(thread[what % THREADS], SIGUSR1);
        usleep(50);
    }
}

static void changed_beneath_threads(void **state)
{
    const char *told = getenv("RB_TEST_SECONDS");
    const struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
    pthread_t thread[THREADS];
    void *frame[4];
    size_t bytes;

    (void)state;
    counting = true;
    assert_true(rb_rmw_prepare()); // if this test runs alone
    backtrace(frame, 4);           // loads libgcc
    sigaction(SIGUSR1, &action, NULL);
    open_library(&lib, RMW_CASES);
    unsigned char *copy = copy_code(&lib, &bytes);
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, run_library, (void *)i), 0);
    usleep(10000);
    befores = afters = lost_edges = 0;
    assert_int_equal(rb_rmw_hook_module(LIBRARY, lib.module.bias, &lib.table), 0);
    change_beneath(thread, told ? atof(told) : 2);
    rb_rmw_switch(true);
    usleep(10000);
    rb_rmw_restore_all();
    assert_true(is_code(&lib, copy, bytes));
    usleep(10000);
    rb_store_release(&over, true);
    uint64_t turns = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        turns += sums[i];
    }
    assert_int_equal(word[0], (uint32_t)(50 * turns));
    assert_int_equal(word[1], (uint32_t) - (50 * turns));
    assert_int_equal(word[2], (uint32_t)turns);
    assert_int_equal(*lib.hits, 50 * turns);
    assert_true(befores > 0 && afters > 0 && handled > 0);
    assert_int_equal(deep, handled); // each handler has seen the whole stack
    print_message("%lu turns, %lu and %lu calls, %lu signals, %lu in cells, %lu edges lost\n", turns, befores,
                  afters, handled, in_cells, lost_edges);
    rb_rmw_forget_module(LIBRARY);
    free(copy);
    close_library(&lib);
}

// ---- cost ----------------------------------------------------------------------------------------------

static double cost_of(void (*step)(void), unsigned times)
{
    double least = 1e9;

    for (unsigned turn = 0; turn < 5; turn++) {
        const double start = seconds_now();
        for (unsigned i = 0; i < times; i++)
            step();
        const double ns = (seconds_now() - start) * 1e9 / times;
        least = ns < least ? ns : least;
    }
    return least;
}

static void step_xadd(void)
{
    lib.xadd();
}

static void step_trapped(void)
{
    lib.trapped(&word[3], 1);
}

// Prints the cost of `lock xadd` in each state, and bounds that of a pause: no system call, no saved register.
static void cost_is_small(void **state)
{
    const unsigned many = 200000;

    (void)state;
    counting = true;
    assert_true(rb_rmw_prepare());
    open_library(&lib, RMW_CASES);
    const double bare = cost_of(step_xadd, many);
    assert_int_equal(rb_rmw_hook_module(LIBRARY, lib.module.bias, &lib.table), 0);
    const double trapped = cost_of(step_trapped, 40);
    const double hooked = cost_of(step_xadd, many);
    quick = true;
    const double fast = cost_of(step_xadd, many);
    quick = false;
    rb_process.paused = RB_PAUSED;
    const double asked = cost_of(step_xadd, many);
    rb_process.paused = 0;
    rb_rmw_switch(false);
    const double paused = cost_of(step_xadd, many);
    rb_rmw_switch(true);
    print_message(
        "ns: %.1f bare, %.1f paused, %.1f paused but not switched, %.1f with nothing to do, %.1f with two "
        "calls, %.0f by int3\n",
        bare, paused, asked, fast, hooked, trapped);
    assert_true(paused < bare + 50);
    rb_rmw_restore_all();
    rb_rmw_forget_module(LIBRARY);
    close_library(&lib);
}

int main(int count, char **argument)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forms_with_one_thread), cmocka_unit_test(wide_registers),
        cmocka_unit_test(refuses_bad_tables),    cmocka_unit_test(refuses_other_code),
        cmocka_unit_test(refused_by_the_kernel), cmocka_unit_test(finds_tables),
        cmocka_unit_test(forms_beside_a_thread), cmocka_unit_test(changed_beneath_threads),
        cmocka_unit_test(cost_is_small),
    };

    if (!__builtin_cpu_supports("avx2"))
        return 77;
    if (count > 1)
        cmocka_set_test_filter(argument[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
