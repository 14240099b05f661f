/* A mapping is laid over the neighbour of the page that two threads write. */
#define _GNU_SOURCE
#include "../order.h"
#include <sys/mman.h>

enum { PAGE = 4096 };
enum { OVER = PAGE };
char *place;

static void first(void)
{
    place[100] = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    RB_CHECK(mmap(place + OVER, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                  0) != MAP_FAILED);
    place[100] = 2; /* RACE 2 */
}

int main(void)
{
    place = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    RB_CHECK(place != MAP_FAILED);
    return rb_both(first, second);
}
