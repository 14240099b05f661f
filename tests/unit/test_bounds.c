// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bounds of a report's texts: length, whole characters, names that stay readable.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "report/race_record.h"

static void texts(void **state)
{
    char text[RB_TEXT_LIMIT + 20];

    (void)state;
    for (size_t length = 0; length < sizeof(text) - 4; length++) {
        json_t *value;
        memset(text, 'x', length);
        strcpy(text + length, length % 2 ? "ä" : "€");
        value = rb_json_text(text);
        assert_non_null(value);
        if (strlen(text) <= RB_TEXT_LIMIT) {
            assert_string_equal(json_string_value(value), text);
        } else {
            assert_in_range(json_string_length(value), RB_TEXT_LIMIT - 3, RB_TEXT_LIMIT);
            assert_string_equal(json_string_value(value) + json_string_length(value) - 3, "…");
        }
        json_decref(value);
        length += length < RB_TEXT_LIMIT - 8 ? 97 : 0;
    }
    memset(text, 0xff, sizeof(text) - 1);
    text[sizeof(text) - 1] = 0;
    json_t *value = rb_json_text(text);
    assert_in_range(json_string_length(value), RB_TEXT_LIMIT - 3, RB_TEXT_LIMIT);
    assert_int_equal(json_string_value(value)[0], '?');
    json_decref(value);
}

static void values(void **state)
{
    char text[3 * RB_TEXT_LIMIT];
    json_t *value, *texts;

    (void)state;
    for (size_t i = 0; i < sizeof(text) - 1; i += 2)
        memcpy(text + i, "ö", 2);
    text[sizeof(text) - 2] = 0;
    value = json_pack("{s:[s, {s:s}], s:i, s:s}", "list", text, "deep", text, "number", 7, "short", "ö");
    assert_non_null(value);
    assert_int_equal(rb_json_bound(value), 0);
    texts = json_object_get(value, "list");
    assert_in_range(json_string_length(json_array_get(texts, 0)), RB_TEXT_LIMIT - 3, RB_TEXT_LIMIT);
    assert_in_range(json_string_length(json_object_get(json_array_get(texts, 1), "deep")), RB_TEXT_LIMIT - 3,
                    RB_TEXT_LIMIT);
    assert_string_equal(json_string_value(json_object_get(value, "short")), "ö");
    json_decref(value);
}

static void names(void **state)
{
    static const struct {
        const char *name;
        size_t limit;
        const char *shorter;
    } cases[] = {
        {"f(int)", 6, "f(int)"},
        {"std::vector<std::pair<int, long>, std::allocator<std::pair<int, long> > >::push_back", 60,
         "std::vector<std::pair<…>, std::allocator<…> >::push_back"},
        {"std::vector<std::pair<int, long>, std::allocator<std::pair<int, long> > >::push_back", 40,
         "std::vector<…>::push_back"},
        {"Box<Lid<int> >::operator<<(Lid<int>) const", 40, "Box<…>::operator<<(Lid<…>) const"},
        {"Box<Lid<int> >::operator->() const", 30, "Box<…>::operator->() const"},
        {"bool operator< <Lid<int>, Lid<long> >(Lid<int>)", 40, "bool operator< <…>(Lid<…>)"},
        {"decltype (p->first) f<A, B, C, D, E, F>(P)", 36, "decltype (p->first) f<…>(P)"},
        {"brackets>that<do>not<pair(int, int, int)", 23, "brackets>that<do>not…"},
        {"no_template_at_all(and_yet, very, long)", 20, "no_template_at_al…"},
        {"ääääääääääääääääääää", 16, "ääääää…"},
    };

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(cases); i++) {
        char *shorter = rb_name_shorten(cases[i].name, cases[i].limit);
        assert_string_equal(shorter, cases[i].shorter);
        assert_true(strlen(shorter) <= cases[i].limit);
        free(shorter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
        cmocka_unit_test(values),
        cmocka_unit_test(names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
