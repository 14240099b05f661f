/*
 * memcmp, strncpy and strrchr read what another thread wrote.
 * build: -fno-builtin
 */
#include "../order.h"
#include <string.h>

RB_APART char compared[16] = "abcdefghijkl", limited[16] = "abcdefghijkl";
RB_APART char last[16] = "abcdefghijkl";

static void first(void)
{
    compared[7] = 'h'; /* RACE 1 */
    limited[2] = 'x';  /* RACE 3 */
    last[2] = 'x';     /* RACE 5 */
    rb_reach(1);
}

static void second(void)
{
    char local[16];

    rb_await(1);
    rb_use(memcmp(compared, "abcdefgh", 8)); /* RACE 2 */
    strncpy(local, limited, 5);              /* RACE 4 */
    rb_use(strrchr(last, 'k'));              /* RACE 6 */
    rb_escape(local);
}

int main(void)
{
    return rb_both(first, second);
}
