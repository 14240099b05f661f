/*
 * strcat and strdup touch a text no further than its terminator.
 * build: -fno-builtin
 */
#include "../order.h"
#include <string.h>

RB_APART char from[16] = "abcde", twice[16] = "abcde", to[16] = "abcde";
enum { TOUCHED = 12, BEHIND = 12 };

static void first(void)
{
    from[TOUCHED] = 'x';
    twice[TOUCHED] = 'x';
    to[BEHIND] = 'x';
    rb_reach(1);
}

static void second(void)
{
    char local[32] = "", *copy;

    rb_await(1);
    strcat(local, from);
    copy = strdup(twice);
    strcat(to, "fgh");
    rb_escape(local);
    rb_escape(copy);
    free(copy);
}

int main(void)
{
    return rb_both(first, second);
}
