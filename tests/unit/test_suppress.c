// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Suppressions: patterns, files, and which parts of a race each type looks at. Each pattern comes with a name
// that it must match or one that it must not.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/suppress.h"

static void patterns(void **state)
{
    static const struct {
        const char *pattern, *text;
        bool matches;
    } cases[] = {
        {"foo", "foo", true},
        {"foo", "a_foo_b", true}, // anywhere
        {"foo", "fo", false},
        {"foo", "", false},
        {"*", "x", true},
        {"*", "", false}, // what has no name is not meant
        {"^foo", "foobar", true},
        {"^foo", "barfoo", false},
        {"foo$", "barfoo", true},
        {"foo$", "foobar", false},
        {"foo$", "foofoo", true}, // the second one ends the name
        {"^foo$", "foo", true},
        {"^foo$", "foofoo", false},
        {"^$", "x", false},
        {"a*c", "xabcx", true},
        {"a*c", "cba", false},
        {"^a*c$", "abcbc", true},
        {"^a*c$", "abcb", false},
        {"^a**c$", "ac", true},
        {"^*c$", "abc", true},
        {"^a*b*c", "a1b2c3", true},
        {"^a*b*c$", "a1c2b3", false},
        {"a*b*a*b", "aabbab", true},
        {"^foo*$", "foo", true},
        {"operator()", "shop::f::operator()(int) const", true}, // nothing else is special
        {"a.c", "abc", false},
        {"a?c", "abc", false},
        {"a$b", "a$b", true}, // $ means the end only at the end
        {"Foo", "foo", false},
        {"std::vector<*>::push_back", "void std::vector<int>::push_back(int&&)", true},
        {"^/usr/lib/*.so", "/usr/lib/x/libfoo.so.1", true},
    };

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(cases); i++)
        if (rb_suppress_matches(cases[i].pattern, cases[i].text) != cases[i].matches)
            fail_msg("'%s' and '%s': expected %s", cases[i].pattern, cases[i].text,
                     cases[i].matches ? "a match" : "no match");
    assert_false(rb_suppress_matches("*", NULL));
}

static void files(void **state)
{
    struct rb_suppressions s = {0};
    struct rb_error e = {0};

    (void)state;
    assert_int_equal(
        rb_suppressions_parse(&s,
                              "# comment\n\n  race:foo  \r\nrace_top:a b\n\tcalled_from_lib:libx\n"
                              "thread:t\nmutex:m\nsignal:s\ndeadlock:d\n#race:no\nrace:a:b",
                              "file", &e),
        0);
    assert_int_equal(s.count, 8);
    assert_string_equal(s.list[0].pattern, "foo");
    assert_int_equal(s.list[0].type, RB_SUPPRESS_RACE);
    assert_string_equal(s.list[1].pattern, "a b");
    assert_int_equal(s.list[1].type, RB_SUPPRESS_RACE_TOP);
    assert_string_equal(s.list[2].pattern, "libx");
    assert_int_equal(s.list[2].type, RB_SUPPRESS_LIBRARY);
    assert_int_equal(s.list[3].type, RB_SUPPRESS_OTHER);
    assert_string_equal(s.list[7].pattern, "a:b");
    rb_suppressions_free(&s);
    assert_int_equal(s.count, 0);
}

static void bad_lines(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"race", "f:1: 'race': expected type:pattern, as in race:function"},
        {"race:a\nraces:b\n", "f:2: 'races' is not a type; expected race, race_top, called_from_lib, thread, "
                              "mutex, signal or deadlock"},
        {"\n\nrace:\n", "f:3: nothing behind 'race:'; race:* would be all of them"},
        {":x", "f:1: '' is not a type; expected race, race_top, called_from_lib, thread, mutex, signal or "
               "deadlock"},
        {"race :x", "f:1: 'race ' is not a type; expected race, race_top, called_from_lib, thread, mutex, "
                    "signal or deadlock"},
    };

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(cases); i++) {
        struct rb_suppressions s = {0};
        struct rb_error e = {0};
        assert_true(rb_suppressions_parse(&s, cases[i].text, "f", &e) < 0);
        assert_int_equal(e.fault, RB_FAULT_INPUT);
        assert_string_equal(e.text, cases[i].message);
        rb_suppressions_free(&s);
    }
    // the good lines around a bad one count, and the first complaint is the one told
    struct rb_suppressions s = {0};
    struct rb_error e = {0};
    assert_true(rb_suppressions_parse(&s, "race:a\nbad\nrace:b\nworse\n", "f", &e) < 0);
    assert_int_equal(s.count, 2);
    assert_non_null(strstr(e.text, "f:2:"));
    rb_suppressions_free(&s);
}

static const char race[] = "{\"accesses\":["
                           "{\"op\":\"write\",\"size\":4,\"address\":\"0x10\",\"thread\":1,\"stack\":["
                           "{\"module\":\"/opt/app/bin/"
                           "shop\",\"offset\":\"0x11\",\"function\":\"sell()\",\"file\":\"/src/shop.cc\"},"
                           "{\"module\":\"/opt/app/lib/"
                           "libtill.so.2\",\"offset\":\"0x12\",\"function\":\"till::run\",\"file\":\"/src/"
                           "till.cc\"}]},"
                           "{\"op\":\"read\",\"size\":4,\"address\":\"0x10\",\"thread\":0,\"stack\":["
                           "{\"module\":\"/opt/app/bin/"
                           "shop\",\"offset\":\"0x21\",\"function\":\"count()\",\"file\":\"/src/count.cc\"},"
                           "{\"module\":\"/opt/app/bin/"
                           "shop\",\"offset\":\"0x22\",\"function\":\"main\",\"file\":\"/src/main.cc\"}]}],"
                           "\"location\":{\"kind\":\"global\",\"module\":\"/opt/app/"
                           "data.so\",\"offset\":\"0x40\",\"name\":\"stock\"},"
                           "\"threads\":[{\"id\":1,\"name\":\"clerk\",\"stack\":["
                           "{\"module\":\"/opt/app/bin/shop\",\"offset\":\"0x31\",\"function\":\"hire\"}]}]}";

static void races(void **state)
{
    static const struct {
        const char *line;
        bool suppressed;
    } cases[] = {
        {"race:^sell", true},
        {"race:till::run", true}, // not only the top
        {"race:main", true},      // not only the first stack
        {"race:count.cc$", true},
        {"race:libtill.so", true},
        {"race:^stock$", true},
        {"race:data.so", true},
        {"race:hire", false},  // where a thread was created is not where it races
        {"race:clerk", false}, // nor is its name
        {"race:nothing", false},
        {"race_top:sell", true},
        {"race_top:count()", true},
        {"race_top:/src/count.cc", true},
        {"race_top:main", false},
        {"race_top:till", false},
        {"race_top:stock", false},
        {"called_from_lib:libtill.so", true},
        {"called_from_lib:^libtill", true}, // of the base name
        {"called_from_lib:^/opt/app/lib/", true},
        {"called_from_lib:sell", false},
        {"called_from_lib:libother.so", false},
        {"thread:*", false},
        {"mutex:*", false},
        {"signal:*", false},
        {"deadlock:*", false},
    };
    struct rb_error e = {0};
    json_t *record;

    (void)state;
    assert_int_equal(rb_race_parse(race, strlen(race), "here", &record, &e), 0);
    for (size_t i = 0; i < RB_LENGTH(cases); i++) {
        struct rb_suppressions s = {0};
        assert_int_equal(rb_suppressions_parse(&s, cases[i].line, "f", &e), 0);
        assert_int_equal(s.count, 1);
        if ((rb_suppressed(&s, record) != NULL) != cases[i].suppressed)
            fail_msg("%s: expected %s", cases[i].line, cases[i].suppressed ? "suppression" : "none");
        rb_suppressions_free(&s);
    }
    struct rb_suppressions none = {0};
    assert_null(rb_suppressed(&none, record));
    json_decref(record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns),
        cmocka_unit_test(files),
        cmocka_unit_test(bad_lines),
        cmocka_unit_test(races),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
