// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Call sites that sleep: found, refused, flipped, forgotten, and flipped while others run through them.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "run/sites/sites.h"

struct rb_process rb_process; // not sandboxed
static struct rb_self self;
static uint64_t calls;
static uintptr_t last;

__attribute__((section("rb_hooks"), noinline)) static void hook(void)
{
    rb_fetch_add_relaxed(&calls, 1);
    rb_store_relaxed(&last, (uintptr_t)__builtin_return_address(0));
}

__attribute__((noinline)) static void no_hook(void)
{
    rb_store_relaxed(&last, (uintptr_t)__builtin_return_address(0));
}

static void (*slot)(void) __attribute__((used)) = hook;

#define CLOBBERS "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc"

__attribute__((noinline)) static void direct(void)
{
    __asm__ volatile("sub $128, %%rsp\n\tcall %P0\n\tadd $128, %%rsp" : : "i"(hook) : CLOBBERS);
}

__attribute__((noinline)) static void through_slot(void)
{
    __asm__ volatile("sub $128, %%rsp\n\tcall *%0\n\tadd $128, %%rsp" : : "m"(slot) : CLOBBERS);
}

__attribute__((noinline)) static void through_register(void)
{
    __asm__ volatile("sub $128, %%rsp\n\tcall *%0\n\tadd $128, %%rsp" : : "b"(hook) : CLOBBERS);
}

__attribute__((noinline)) static void elsewhere(void)
{
    __asm__ volatile("sub $128, %%rsp\n\tcall %P0\n\tadd $128, %%rsp" : : "i"(no_hook) : CLOBBERS);
}

static struct rb_site *site_of(void (*f)(void))
{
    f();
    return rb_site_at(NULL, last);
}

static int begin(void **state)
{
    (void)state;
    return rb_sites_init((size_t)1 << 20);
}

static uint64_t calls_of(void (*f)(void))
{
    const uint64_t before = calls;

    f();
    return calls - before;
}

// After a batch that took long it takes thousands of calls until the next.
static void sleep_now(struct rb_site *s)
{
    for (int i = 0; i < 100000 && s->state != RB_SITE_ASLEEP; i++)
        assert_true(rb_site_sleep(&self, s));
    assert_int_equal(s->state, RB_SITE_ASLEEP);
}

static void sleeps_and_wakes(void **state)
{
    void (*const forms[])(void) = {direct, through_slot};

    (void)state;
    for (int i = 0; i < 2; i++)
        for (int round = 0; round < 3; round++) {
            struct rb_site *s = round ? rb_site_at(NULL, last) : site_of(forms[i]);
            assert_non_null(s);
            assert_int_equal(s->state, RB_SITE_AWAKE);
            assert_int_equal(calls_of(forms[i]), 1);
            sleep_now(s);
            assert_int_equal(calls_of(forms[i]), 0);
            assert_int_equal(rb_sites_flip(&s, 1, RB_SITE_AWAKE), 1);
            assert_int_equal(calls_of(forms[i]), 1);
        }
}

static void refuses(void **state)
{
    uintptr_t on_stack[16] = {0};

    (void)state;
    assert_int_equal(site_of(through_register)->state, RB_SITE_REFUSED);
    assert_int_equal(site_of(elsewhere)->state, RB_SITE_REFUSED);
    assert_int_equal(rb_site_at(NULL, (uintptr_t)&on_stack[8])->state, RB_SITE_REFUSED);
    assert_int_equal(rb_site_at(NULL, 4096)->state, RB_SITE_REFUSED);
    assert_false(rb_site_sleep(&self, site_of(elsewhere)));
    assert_false(rb_site_sleep(&self, NULL));
}

static char text_protection(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512], how[8] = "";
    uintptr_t from, to;

    assert_non_null(maps);
    while (fgets(line, sizeof(line), maps))
        if (sscanf(line, "%lx-%lx %7s", &from, &to, how) == 3 && (uintptr_t)direct >= from &&
            (uintptr_t)direct < to)
            break;
    fclose(maps);
    assert_int_equal(how[0], 'r');
    assert_int_equal(how[2], 'x');
    return how[1];
}

static void text_is_not_writable(void **state)
{
    (void)state;
    assert_int_equal(text_protection(), '-');
    struct rb_site *s = site_of(direct);
    sleep_now(s);
    assert_int_equal(text_protection(), '-');
    rb_sites_flip(&s, 1, RB_SITE_AWAKE);
    assert_int_equal(text_protection(), '-');
}

static void held(void **state)
{
    struct rb_site *s = site_of(direct);

    (void)state;
    rb_sites_hold();
    rb_sites_hold();
    for (int i = 0; i < 1000; i++)
        rb_site_sleep(&self, s);
    assert_int_equal(calls_of(direct), 1);
    rb_sites_let();
    assert_int_equal(rb_sites_flip(&s, 1, RB_SITE_ASLEEP), 0);
    rb_sites_let();
    sleep_now(s);
    assert_int_equal(calls_of(direct), 0);
    assert_int_equal(rb_sites_flip(&s, 1, RB_SITE_AWAKE), 1);
}

// A gate is a byte of data: closed and opened like a site, at once, and counted apart.
static void gates(void **state)
{
    static unsigned char gate[2] = {1, 1};
    struct rb_site_counts before, after;

    (void)state;
    rb_sites_counts(&before);
    struct rb_site *g = rb_gate_at((uintptr_t)&gate[0]);
    assert_ptr_equal(rb_gate_at((uintptr_t)&gate[0]), g);
    assert_ptr_not_equal(rb_gate_at((uintptr_t)&gate[1]), g);
    assert_true(rb_site_is_gate(g) && rb_site_can_sleep(g));
    assert_false(rb_site_is_gate(site_of(direct)));
    assert_true(rb_site_sleep(&self, g));
    assert_int_equal(gate[0], 0);
    assert_int_equal(gate[1], 1);
    rb_sites_counts(&after);
    assert_int_equal(after.gates, before.gates + 2);
    assert_int_equal(after.open, before.open + 1);
    assert_int_equal(after.sites, before.sites);
    rb_sites_hold();
    assert_int_equal(rb_sites_flip(&g, 1, RB_SITE_AWAKE), 0);
    rb_sites_let();
    assert_int_equal(rb_sites_flip(&g, 1, RB_SITE_AWAKE), 1);
    assert_int_equal(gate[0], 1);
    rb_sites_forget((uintptr_t)gate, (uintptr_t)gate + 2);
    assert_int_equal(g->state, RB_SITE_DEAD);
}

static bool everyone(struct rb_site *s)
{
    return s->pc != 0;
}

// A site that is forgotten is another library's when it is met again. Room is for 2048: what is dead makes
// place.
static void forgotten(void **state)
{
    struct rb_site_counts counts;
    const uintptr_t nowhere = (uintptr_t)1 << 40;

    (void)state;
    struct rb_site *s = site_of(direct);
    const uintptr_t pc = s->pc;
    rb_sites_forget(pc, pc + 1);
    assert_int_equal(s->state, RB_SITE_DEAD);
    assert_int_equal(rb_site_at(NULL, pc)->state, RB_SITE_AWAKE);
    assert_non_null(rb_site_at(NULL, nowhere - 1)); // the last that there is
    rb_sites_forget(nowhere - 1, nowhere);
    assert_int_equal(rb_site_at(NULL, nowhere - 1)->state, RB_SITE_REFUSED);

    for (uintptr_t i = 0; i < 10000; i++) {
        struct rb_site *new = rb_site_at(NULL, nowhere + i);
        assert_true(!new || (new->pc == nowhere + i &&new->state == RB_SITE_REFUSED));
        if (i % 1000 == 999)
            rb_sites_forget(nowhere, nowhere + i + 1);
    }
    rb_sites_counts(&counts);
    assert_true(counts.refused < 100 && counts.sites >= 2);
    assert_int_equal(rb_site_at(NULL, pc)->state, RB_SITE_AWAKE);
    assert_true(rb_site_at(NULL, nowhere)->state == RB_SITE_REFUSED);
    rb_sites_forget(nowhere, nowhere + 10000);
    assert_true(rb_sites_flip_all(everyone, RB_SITE_ASLEEP) >= 2);
    assert_int_equal(calls_of(direct) + calls_of(through_slot), 0);
    assert_true(rb_sites_flip_all(everyone, RB_SITE_AWAKE) >= 2);
    assert_int_equal(calls_of(direct) + calls_of(through_slot), 2);
}

static bool stop;

static void *run_through(void *failed)
{
    uint64_t sum = 0, n = 0;

    while (!rb_load_relaxed(&stop)) {
        direct();
        sum += n;
        through_slot();
        n++;
    }
    *(bool *)failed = sum != n * (n - 1) / 2;
    return NULL;
}

static void flipped_while_running(void **state)
{
    bool failed[2] = {true, true};
    pthread_t thread[2];
    uint64_t done = 0;

    (void)state;
    site_of(direct);
    site_of(through_slot);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, run_through, &failed[i]), 0);
    for (int i = 0; i < 20000; i++)
        done += rb_sites_flip_all(everyone, i & 1 ? RB_SITE_AWAKE : RB_SITE_ASLEEP);
    rb_store_relaxed(&stop, true);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    assert_true(done >= 40000);
    assert_false(failed[0] || failed[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sleeps_and_wakes),
                                       cmocka_unit_test(refuses),
                                       cmocka_unit_test(text_is_not_writable),
                                       cmocka_unit_test(held),
                                       cmocka_unit_test(gates),
                                       cmocka_unit_test(forgotten),
                                       cmocka_unit_test(flipped_while_running)};

    return cmocka_run_group_tests_name("sites", tests, begin, NULL);
}
