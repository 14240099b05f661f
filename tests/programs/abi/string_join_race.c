/*
 * strcat and strdup read a text another thread wrote; strcat writes behind a text another thread extends.
 * build: -fno-builtin
 */
#include "../order.h"
#include <string.h>

RB_APART char from[16] = "abcde", twice[16] = "abcde", to[16] = "abcde";
enum { TOUCHED = 2, BEHIND = 6 };

static void first(void)
{
    from[TOUCHED] = 'x';  /* RACE 1 */
    twice[TOUCHED] = 'x'; /* RACE 3 */
    to[BEHIND] = 'x';     /* RACE 5 */
    rb_reach(1);
}

static void second(void)
{
    char local[32] = "", *copy;

    rb_await(1);
    strcat(local, from);  /* RACE 2 */
    copy = strdup(twice); /* RACE 4 */
    strcat(to, "fgh");    /* RACE 6 */
    rb_escape(local);
    rb_escape(copy);
    free(copy);
}

int main(void)
{
    return rb_both(first, second);
}
