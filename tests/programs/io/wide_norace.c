/* Wide characters through streams: who reads them comes after who wrote them. */
#include "../order.h"
#include <wchar.h>

FILE *in, *out;
int RB_APART data, RB_APART other;

static void first(void)
{
    data = 1;
    RB_CHECK(fwprintf(out, L"a\n") > 0);
    rb_await(1);
    other = 1;
    RB_CHECK(fputws(L"b\n", out) >= 0);
}

static void second(void)
{
    wchar_t line[8];

    RB_CHECK(fgetws(line, 8, in) == line);
    data = 2;
    rb_reach(1);
    RB_CHECK(fgetwc(in) == L'b');
    other = 2;
}

int main(void)
{
    int ends[2];

    RB_CHECK(pipe(ends) == 0);
    in = fdopen(ends[0], "r");
    out = fdopen(ends[1], "w");
    RB_CHECK(in && out && setvbuf(out, NULL, _IONBF, 0) == 0);
    return rb_both(first, second);
}
