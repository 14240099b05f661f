/* Two threads write one mapping. */
#define _GNU_SOURCE
#include "../order.h"
#include <sys/mman.h>

enum { SIZE = 1 << 16 };
char *place;

static void first(void)
{
    place[100] = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    place[100] = 2; /* RACE 2 */
}

int main(void)
{
    place = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    RB_CHECK(place != MAP_FAILED);
    return rb_both(first, second);
}
