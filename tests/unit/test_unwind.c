// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stacks against the walk of the compiler's own runtime, which reads the same call frame information with
// other code and no caches; stacks made of garbage; the tree under several threads, full, and reset.
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <cmocka.h>

#include "unwind_cases.h"
#include "unwind_cfi.h"
#include "unwind_walks.h"

// ---- the yardstick -------------------------------------------------------------------------------------

static _Unwind_Reason_Code note(struct _Unwind_Context *context, void *to)
{
    struct list *list = to;
    int interrupted = 0;
    const uintptr_t pc = _Unwind_GetIPInfo(context, &interrupted);

    if (list->count == MOST || pc == 0)
        return _URC_END_OF_STACK;
    list->pcs[list->count++] = pc + (interrupted != 0);
    return _URC_NO_REASON;
}

unsigned yardstick(struct list *list, uintptr_t from, const uintptr_t **pcs)
{
    unsigned skip = 0;

    list->count = 0;
    _Unwind_Backtrace(note, list);
    while (skip < list->count && list->pcs[skip] != from)
        skip++;
    *pcs = list->pcs + skip;
    return list->count - skip;
}

bool same_pcs(const uintptr_t *a, const uintptr_t *b, unsigned count)
{
    return memcmp(a, b, count * sizeof(*a)) == 0;
}

// ---- the thread under test -----------------------------------------------------------------------------

__thread struct rb_walk walk, fresh;

void own_stack(struct rb_walk *w)
{
    pthread_attr_t attributes;
    void *low;
    size_t size;

    memset(w, 0, sizeof(*w));
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    w->stack_lo = (uintptr_t)low;
    w->stack_hi = (uintptr_t)low + size;
}

void forget_walk(struct rb_walk *w)
{
    const uintptr_t lo = w->stack_lo, hi = w->stack_hi;

    memset(w, 0, sizeof(*w));
    w->stack_lo = lo;
    w->stack_hi = hi;
}

// The runtime's frames between the program and the capture: some, and not always the same.
RB_NOINLINE rb_stack through_two(struct rb_walk *w, uintptr_t pc, unsigned depth)
{
    volatile rb_stack s = rb_stack_here(w, pc, depth);

    return s;
}

// From two places in turn: the frames beyond may be the same ones.
RB_NOINLINE rb_stack through_three(struct rb_walk *w, uintptr_t pc, unsigned depth)
{
    static __thread unsigned turns;
    volatile rb_stack s;

    if (turns++ % 2) {
        s = through_two(w, pc, depth);
        __asm__ volatile("# one");
    } else {
        s = through_two(w, pc, depth);
        __asm__ volatile("# the other");
    }
    return s;
}

static __thread unsigned probes, deepest;

// Called by the program: what the walk that remembers, one that does not, and the yardstick say must be the
// same.
RB_NOINLINE static void probe(struct trip *t)
{
    static __thread struct list list;
    const uintptr_t pc = (uintptr_t)__builtin_return_address(0);
    const unsigned depth = t->budget % 7 ? RB_STACK_DEPTH : 1 + t->budget / 7 % 12;
    const uintptr_t *expected;
    uintptr_t pcs[RB_STACK_DEPTH];

    if (t->budget % 5 == 0)
        through_two(&walk, 1, depth); // a hook that is not there
    const rb_stack s = t->budget % 4 != 1 ? through_two(&walk, pc, depth) : through_three(&walk, pc, depth);
    forget_walk(&fresh);
    const rb_stack again = through_two(&fresh, pc, depth);
    const unsigned real = yardstick(&list, pc, &expected), count = rb_stack_frames(s, pcs, RB_STACK_DEPTH);
    assert_true(s != 0);
    assert_int_equal(s, again);
    assert_int_equal(count, real < depth ? real : depth);
    assert_true(same_pcs(pcs, expected, count));
    probes++;
    deepest = real > deepest ? real : deepest;
}

void trip_on(struct trip *t)
{
    static const trip_case *const builds[] = {unwind_cases_plain, unwind_cases_pointer, unwind_cases_small,
                                              unwind_cases_none};

    if (t->budget == 0)
        return;
    t->budget--;
    if (t->depth >= t->most || rb_rng_below(&t->rng, 6) == 0) {
        t->probe(t);
        if (rb_rng_below(&t->rng, 2))
            t->probe(t); // another site of the same function
        return;
    }
    t->depth++;
    builds[rb_rng_below(&t->rng, RB_LENGTH(builds))][rb_rng_below(&t->rng, UNWIND_CASES)](t);
    t->depth--;
}

static __thread struct trip *signalled;

RB_NOINLINE static void on_signal(int number)
{
    struct trip *t = signalled;

    (void)number;
    trip_on(t);
    signalled = t;
}

void trip_by_signal(struct trip *t)
{
    signalled = t;
    syscall(SYS_tgkill, getpid(), gettid(), SIGUSR1);
}

static void handle(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

    assert_int_equal(sigaction(number, &action, NULL), 0);
}

static int set_up(void **state)
{
    (void)state;
    own_stack(&walk);
    own_stack(&fresh);
    find_objects();
    return rb_stack_init(TABLE);
}

// ---- real stacks ---------------------------------------------------------------------------------------

static void travel(uint64_t seed, unsigned trips, unsigned most, bool signals)
{
    for (unsigned i = 0; i < trips; i++) {
        struct trip t = {.most = most, .budget = 400, .signals = signals, .probe = probe};
        rb_rng_seed(&t.rng, seed + i);
        trip_on(&t);
    }
}

static void walks_of_journeys(void **state)
{
    (void)state;
    handle(SIGUSR1, on_signal, SA_NODEFER);
    probes = deepest = 0;
    errno = 77;
    travel(1, 100, 12, true);
    travel(2000, 60, 40, true);
    travel(3000, 40, 150, true);
    assert_int_equal(errno, 77);
    assert_true(probes > 5000);
    assert_true(deepest > 100);
}

static void *journeys_of_a_thread(void *seed)
{
    own_stack(&walk);
    own_stack(&fresh);
    probes = deepest = 0;
    travel((uint64_t)(uintptr_t)seed, 60, 30, true);
    return (void *)(uintptr_t)probes;
}

static void walks_of_threads(void **state)
{
    pthread_t thread[4];

    (void)state;
    handle(SIGUSR1, on_signal, SA_NODEFER);
    for (uintptr_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, journeys_of_a_thread, (void *)(i * 1000)), 0);
    for (unsigned i = 0; i < 4; i++) {
        void *count;
        pthread_join(thread[i], &count);
        assert_true((uintptr_t)count > 1000);
    }
}

// At every single instruction of a journey, prologues, epilogues and linkage tables included: the same stack
// as the yardstick's, or, where a register that we do not follow is needed, its inner part.
static struct {
    volatile unsigned steps, whole;
    unsigned most;
    volatile bool over;
    const char *wrong;
} stepping;

static void on_step(int number, siginfo_t *info, void *context)
{
    static struct list list;
    ucontext_t *u = context;
    const greg_t *r = u->uc_mcontext.gregs;
    const struct rb_unwind_frame top = {(uintptr_t)r[REG_RIP] + 1, (uintptr_t)r[REG_RSP],
                                        (uintptr_t)r[REG_RBP]};
    const uintptr_t *expected;
    uintptr_t pcs[RB_STACK_DEPTH];

    (void)number;
    (void)info;
    const rb_stack s = rb_stack_from(&walk, &top, RB_STACK_DEPTH);
    const unsigned count = rb_stack_frames(s, pcs, RB_STACK_DEPTH),
                   real = yardstick(&list, top.pc, &expected);
    const unsigned whole = real < RB_STACK_DEPTH ? real : RB_STACK_DEPTH;
    if (count == 0 || count > whole || !same_pcs(pcs, expected, count))
        stepping.wrong = "other frames";
    forget_walk(&fresh);
    if (rb_stack_from(&fresh, &top, RB_STACK_DEPTH) != s)
        stepping.wrong = "remembered frames";
    stepping.steps++;
    stepping.whole += count == whole;
    if (stepping.over || stepping.wrong || stepping.steps == stepping.most)
        u->uc_mcontext.gregs[REG_EFL] &= ~0x100;
}

static void no_probe(struct trip *t)
{
    t->sum++;
}

static void walks_at_each_instruction(void **state)
{
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    struct trip t = {.most = 20, .budget = 1000, .probe = no_probe};

    (void)state;
    assert_int_equal(sigaction(SIGTRAP, &action, NULL), 0);
    rb_rng_seed(&t.rng, 5);
    stepping.most = 40000;
    __asm__ volatile(
        "leaq -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tleaq 128(%%rsp), %%rsp" ::
            : "memory", "cc");
    trip_on(&t);
    while (t.budget > 0 && stepping.steps < stepping.most && !stepping.wrong)
        trip_on(&t);
    stepping.over = true;
    for (volatile int i = 0; i < 3; i++)
        ;
    print_message("%u instructions, %u stacks whole\n", stepping.steps, stepping.whole);
    assert_null(stepping.wrong);
    assert_true(stepping.steps > 10000);
    assert_true(stepping.whole > stepping.steps - stepping.steps / 50);
}

// ---- other stacks --------------------------------------------------------------------------------------

struct seen seen;

RB_NOINLINE void look(void)
{
    const uintptr_t pc = (uintptr_t)__builtin_return_address(0);

    seen.s = through_two(&walk, pc, RB_STACK_DEPTH);
    seen.real = yardstick(&seen.list, pc, &seen.expected);
}

// On a signal stack: the handler's frames as far as they are on the same page, and not one more; then the
// thread's own stack again.
static void on_other_stack(int number)
{
    (void)number;
    look();
    __asm__ volatile(""); // no tail call
}

static void walks_on_signal_stack(void **state)
{
    char *memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const stack_t stack = {.ss_sp = memory, .ss_size = 65536}, none = {.ss_flags = SS_DISABLE};
    uintptr_t pcs[RB_STACK_DEPTH];
    stack_t before;

    (void)state;
    look();
    const rb_stack here = seen.s;
    assert_true(rb_stack_frames(here, pcs, RB_STACK_DEPTH) > 3);
    assert_int_equal(sigaltstack(&stack, &before), 0);
    handle(SIGUSR1, on_other_stack, SA_ONSTACK);
    for (int i = 0; i < 3; i++) {
        raise(SIGUSR1);
        const unsigned count = rb_stack_frames(seen.s, pcs, RB_STACK_DEPTH);
        assert_true(count >= 1 && count < seen.real);
        assert_true(same_pcs(pcs, seen.expected, count));
    }
    // Told where the signal stack is, the walk sees all of it and stops at its end.
    const uintptr_t lo = walk.stack_lo, hi = walk.stack_hi;
    walk.stack_lo = (uintptr_t)memory;
    walk.stack_hi = (uintptr_t)memory + 65536;
    raise(SIGUSR1);
    walk.stack_lo = lo;
    walk.stack_hi = hi;
    const unsigned count = rb_stack_frames(seen.s, pcs, RB_STACK_DEPTH);
    assert_true(count >= 2 && count < seen.real); // the handler and the return from it
    assert_true(same_pcs(pcs, seen.expected, count));
    sigaltstack(before.ss_sp ? &before : &none, NULL);
    munmap(memory, 65536);
}

static ucontext_t main_context, other_context;

static void coroutine(void)
{
    look();
}

static void walks_in_coroutines(void **state)
{
    char *memory = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uintptr_t pcs[RB_STACK_DEPTH];

    (void)state;
    getcontext(&other_context);
    other_context.uc_stack.ss_sp = memory;
    other_context.uc_stack.ss_size = 65536;
    other_context.uc_link = &main_context;
    makecontext(&other_context, coroutine, 0);
    swapcontext(&main_context, &other_context);
    const unsigned count = rb_stack_frames(seen.s, pcs, RB_STACK_DEPTH);
    assert_true(count >= 1 && count <= seen.real);
    assert_true(same_pcs(pcs, seen.expected, count));
    munmap(memory, 65536);
}

// A capture on top of an interrupted one has one frame; one that was left by a jump is taken over.
static void walks_interrupted(void **state)
{
    uintptr_t pcs[RB_STACK_DEPTH];

    (void)state;
    look();
    walk.busy = walk.stack_hi - 8;
    look();
    assert_int_equal(rb_stack_frames(seen.s, pcs, RB_STACK_DEPTH), 1);
    assert_int_equal(pcs[0], seen.expected[0]);
    walk.busy = walk.stack_lo + 8;
    walk.last = 1;
    for (unsigned i = 0; i < walk.frames; i++)
        walk.frame[i].node = 1; // half done
    look();
    assert_int_equal(rb_stack_frames(seen.s, pcs, RB_STACK_DEPTH), seen.real);
    assert_true(same_pcs(pcs, seen.expected, seen.real));
    assert_int_equal(walk.busy, 0);
}

// A hook_pc that the walk does not come by.
static void walks_without_hook(void **state)
{
    uintptr_t pcs[RB_STACK_DEPTH];

    (void)state;
    const rb_stack s = through_two(&walk, 0x1234567, RB_STACK_DEPTH);
    assert_int_equal(rb_stack_frames(s, pcs, RB_STACK_DEPTH), 1);
    assert_int_equal(pcs[0], 0x1234567);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rule_round_trip),
        cmocka_unit_test(cfi_expressions),
        cmocka_unit_test(cfi_scan_finds_the_same),
        cmocka_unit_test(cfi_as_readelf_says),
        cmocka_unit_test(cfi_fuzz_entries),
        cmocka_unit_test(cfi_fuzz_headers),
        cmocka_unit_test(walks_of_journeys),
        cmocka_unit_test(walks_of_threads),
        cmocka_unit_test(walks_at_each_instruction),
        cmocka_unit_test(walks_on_signal_stack),
        cmocka_unit_test(walks_in_coroutines),
        cmocka_unit_test(walks_interrupted),
        cmocka_unit_test(walks_without_hook),
        cmocka_unit_test(walks_of_garbage),
        cmocka_unit_test(walks_remembered),
        cmocka_unit_test(rules_forgotten),
        cmocka_unit_test(rules_of_threads),
        cmocka_unit_test(tree_same_numbers),
        cmocka_unit_test(tree_full),
        cmocka_unit_test(tree_after_fork),
        cmocka_unit_test(times),
    };

    return cmocka_run_group_tests(tests, set_up, NULL);
}
