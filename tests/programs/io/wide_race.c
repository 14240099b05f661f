/* Wide characters through streams, and writes behind those that sent them. */
#include "../order.h"
#include <wchar.h>

FILE *in, *out;
int RB_APART data, RB_APART other;

static void first(void)
{
    RB_CHECK(fwprintf(out, L"a\n") > 0);
    data = 1; /* RACE 1 */
    rb_reach(1);
    rb_await(2);
    RB_CHECK(fputws(L"b\n", out) >= 0);
    other = 1; /* RACE 3 */
    rb_reach(3);
}

static void second(void)
{
    wchar_t line[8];

    RB_CHECK(fgetws(line, 8, in) == line);
    rb_await(1);
    data = 2; /* RACE 2 */
    rb_reach(2);
    RB_CHECK(fgetwc(in) == L'b');
    rb_await(3);
    other = 2; /* RACE 4 */
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
