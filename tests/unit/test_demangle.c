// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Demangling: names as they are in the source, and bounds on output and time for names that were made to
// hurt.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include <cmocka.h>

#include "report/symbols/symbols.h"

static char out[4096];

static void names(void **state)
{
    static const char *const cases[][2] = {
        {"_Z1fi", "f(int)"},
        {"_ZN4shop3BoxIdE3putERKd", "shop::Box<double>::put(double const&)"},
        {"_ZN12_GLOBAL__N_16hiddenEl", "(anonymous namespace)::hidden(long)"},
        {"_ZSt4cout", "std::cout"},
    };

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(cases); i++) {
        assert_true(rb_demangle(cases[i][0], out, sizeof(out)));
        assert_string_equal(out, cases[i][1]);
    }
    assert_false(rb_demangle("main", out, sizeof(out)));
    assert_false(rb_demangle("_Z", out, sizeof(out)));
    assert_false(rb_demangle("_Z1f1", out, sizeof(out)));
    assert_false(rb_demangle("", out, sizeof(out)));
}

static void room_is_kept(void **state)
{
    (void)state;
    memset(out, '!', sizeof(out));
    assert_true(rb_demangle("_Z1fi", out, 7));
    assert_string_equal(out, "f(int)");
    assert_false(rb_demangle("_Z1fi", out, 6));
    assert_false(rb_demangle("_Z1fi", out, 0));
    for (size_t i = 7; i < sizeof(out); i++)
        assert_int_equal(out[i], '!');
}

static const char *substitution(unsigned number)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static char texts[4][8];
    static unsigned calls;
    char *text = texts[calls++ % 4];

    if (!number)
        return "S_";
    snprintf(text, sizeof(texts[0]), "S%.*s%c_", number > 36, &digits[(number - 1) / 36],
             digits[(number - 1) % 36]);
    return text;
}

// Types of which each holds the one before it twice; `first` is the number of the first one's substitution.
static void doubling(char *name, const char *start, unsigned first, unsigned levels, const char *end)
{
    name += sprintf(name, "%s1AIiiE", start);
    for (unsigned i = 0; i < levels; i++) {
        const char *before = substitution(first + 2 * i);
        name += sprintf(name, "1%cI%s%sE", 'B' + i % 20, before, before);
    }
    strcpy(name, end);
}

static double processor_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void bombs(void **state)
{
    char name[2048];

    (void)state;
    doubling(name, "_Z1f", 1, 4, "");
    assert_true(rb_demangle(name, out, sizeof(out)));
    for (unsigned levels = 9; levels <= 64; levels++) {
        const double start = processor_seconds();
        doubling(name, "_Z1f", 1, levels, ""); // 2^levels bytes of output
        assert_false(rb_demangle(name, out, sizeof(out)));
        if (levels % 8 == 0) { // the same work without any output: the search for a parameter pack
            doubling(name, "_Z1fDp1XI", 2, levels, "E");
            assert_false(rb_demangle(name, out, sizeof(out)));
        }
        assert_true(processor_seconds() - start < 1);
    }
    assert_true(rb_demangle("_Z1fi", out, sizeof(out)));
}

static void on_signal(int signal)
{
    (void)signal;
}

// What the caller does with the signal is as before; also if it is blocked.
static void leaves_no_trace(void **state)
{
    struct sigaction action = {.sa_handler = on_signal}, now;
    struct itimerval timer;
    char name[2048];
    sigset_t mask;

    (void)state;
    sigaction(SIGVTALRM, &action, NULL);
    sigemptyset(&mask);
    sigaddset(&mask, SIGVTALRM);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    doubling(name, "_Z1fDp1XI", 2, 40, "E");
    assert_false(rb_demangle(name, out, sizeof(out)));
    sigaction(SIGVTALRM, NULL, &now);
    assert_true(now.sa_handler == on_signal);
    sigprocmask(SIG_SETMASK, NULL, &mask);
    assert_int_equal(sigismember(&mask, SIGVTALRM), 1);
    getitimer(ITIMER_VIRTUAL, &timer);
    assert_int_equal(timer.it_value.tv_sec + timer.it_value.tv_usec, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(room_is_kept),
        cmocka_unit_test(bombs),
        cmocka_unit_test(leaves_no_trace),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
