// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts of `compare` that have right answers: statistics, ticks, labels, written numbers, UTF-8.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "lab/compare/compare_write.h"
#include "lab/compare/plot.h"
#include "report/page.h"

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(1, fabs(b));
}

static void summaries(void **state)
{
    double four[] = {4, 1, 3, 2}, same[] = {0.1, 0.1, 0.1}, holes[] = {NAN, 5, NAN, 7}, one[] = {6},
           none[] = {NAN};
    struct rb_summary s = rb_summarize(four, 4);

    (void)state;
    assert_true(near(s.mean, 2.5) && near(s.median, 2.5) && near(s.sd, sqrt(5.0 / 3)));
    assert_true(s.low == 1 && s.high == 4);
    s = rb_summarize(same, 3);
    assert_true(s.sd == 0 && near(s.mean, 0.1));
    s = rb_summarize(holes, 4);
    assert_true(near(s.mean, 6) && near(s.sd, sqrt(2)) && s.low == 5);
    s = rb_summarize(one, 1);
    assert_true(s.mean == 6 && s.median == 6 && isnan(s.sd));
    s = rb_summarize(none, 1);
    assert_true(isnan(s.mean) && isnan(s.sd) && isnan(s.median) && isnan(s.low));
    s = rb_summarize(NULL, 0);
    assert_true(isnan(s.mean));
}

static void numbers(void **state)
{
    static const struct {
        enum rb_style style;
        double value;
        const char *text;
    } cases[] = {
        {RB_COUNT, 0, "0"},          {RB_COUNT, 9999, "9999"},       {RB_COUNT, 10000, "10.0k"},
        {RB_COUNT, 999949, "1.00M"}, {RB_COUNT, 12.34, "12.3"},      {RB_COUNT, 1234567890, "1.23G"},
        {RB_PERCENT, 1, "100.0"},    {RB_PERCENT, 0.99999, ">99.9"}, {RB_PERCENT, 0.0001, "<0.1"},
        {RB_PERCENT, 0, "0.0"},      {RB_PERCENT, -0.022, "-2.2"},   {RB_PERCENT, NAN, "-"},
        {RB_RATE, 0.02999, "3.00"},  {RB_RATE, 0.003, "0.30"},       {RB_RATE, 1, "100"},
        {RB_TIME, 0.012345, "12.3"}, {RB_TIME, 0.0099999, "10.0"},   {RB_TIMES, 12.345, "12.3"},
        {RB_TIMES, 0.5, "0.50"},
    };

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(cases); i++) {
        char text[RB_NUMBER];
        rb_write_number(text, cases[i].style, cases[i].value, 1e3);
        assert_string_equal(text, cases[i].text);
    }
}

static void ticks(void **state)
{
    double t[RB_TICKS];
    size_t n = rb_ticks_linear(0, 1, 5, t);

    (void)state;
    assert_int_equal(n, 6);
    assert_true(near(t[1], 0.2) && near(t[5], 1));
    n = rb_ticks_log(0.003, 1, 7, t);
    assert_int_equal(n, 4);
    assert_true(near(t[0], 0.001) && near(t[3], 1));
    for (double low = 1e-7; low < 1e9; low *= 3.7) { // whatever the data, the ticks enclose it, rise, and end
        for (double span = 1; span < 1e12; span *= 4.3) {
            n = rb_ticks_log(low, low * span, 6, t);
            assert_in_range(n, 2, RB_TICKS);
            assert_true(t[0] <= low * (1 + 1e-6) && t[n - 1] >= low * span * (1 - 1e-6));
            n = rb_ticks_linear(0, low * span, 5, t);
            assert_in_range(n, 2, 8);
            assert_true(t[0] == 0 && t[n - 1] >= low * span * (1 - 1e-6));
        }
    }
}

static bool apart(struct rb_box a, struct rb_box b)
{
    return a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y;
}

static void labels(void **state)
{
    // eight marks in a heap, one in the corner
    struct rb_label l[] = {{.text = "random:0.03", .x = 200, .y = 200},
                           {.text = "random:0.03", .x = 203, .y = 201},
                           {.text = "literace", .x = 200, .y = 205},
                           {.text = "g-ad", .x = 198, .y = 203},
                           {.text = "rpt:0.01,0.1", .x = 202, .y = 198},
                           {.text = "pacer:0.03", .x = 199, .y = 199},
                           {.text = "ucp", .x = 201, .y = 206},
                           {.text = "rnd10", .x = 204, .y = 204},
                           {.text = "all", .x = 400, .y = 0}};
    const struct rb_box frame = {0, -10, 410, 420};
    struct rb_box marks[RB_LENGTH(l)];

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(l); i++)
        marks[i] = (struct rb_box){l[i].x - 7, l[i].y - 7, 14, 14};
    rb_place_labels(l, RB_LENGTH(l), marks, RB_LENGTH(l), frame);
    for (size_t i = 0; i < RB_LENGTH(l); i++) {
        assert_true(l[i].box.x >= frame.x && l[i].box.x + l[i].box.w <= frame.x + frame.w);
        assert_true(l[i].box.y >= frame.y && l[i].box.y + l[i].box.h <= frame.y + frame.h);
        for (size_t k = 0; k < i; k++)
            assert_true(apart(l[i].box, l[k].box));
    }

    double y[] = {10, 10, 10, 90};
    rb_spread_apart(y, 4, 12, 0, 100);
    assert_true(y[0] >= 0 && y[3] <= 100);
    for (int i = 0; i < 3; i++)
        assert_true(y[i + 1] - y[i] >= 12 - 1e-6);
}

static void utf8(void **state)
{
    static const char *const cases[][2] = {
        {"plain", "plain"},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x9a\x82", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x9a\x82"},
        {"a\xff z", "a\xef\xbf\xbd z"},
        {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},                 // overlong
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"}, // a surrogate
        {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},                 // cut off
    };
    char *html = NULL;
    size_t size = 0;

    (void)state;
    for (size_t i = 0; i < RB_LENGTH(cases); i++) {
        char *clean = rb_utf8(cases[i][0]);
        assert_string_equal(clean, cases[i][1]);
        free(clean);
    }
    FILE *out = open_memstream(&html, &size);
    rb_html_text(out, "<a b='\"&\x01\xff\xc3\xa9>");
    fclose(out);
    assert_string_equal(html, "&lt;a b=&#39;&quot;&amp;\xef\xbf\xbd\xef\xbf\xbd\xc3\xa9&gt;");
    free(html);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(summaries), cmocka_unit_test(numbers),
                                       cmocka_unit_test(ticks), cmocka_unit_test(labels),
                                       cmocka_unit_test(utf8)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
