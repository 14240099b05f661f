/* A mapping is moved away by mremap; another thread maps at its old address: new memory. */
#define _GNU_SOURCE
#include "../order.h"
#include <sys/mman.h>

enum { SIZE = 1 << 16 };
char *place, *room;

static void first(void)
{
    place[100] = 1;
    RB_CHECK(mremap(place, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, room) == room);
    RB_CHECK(room[100] == 1);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    RB_CHECK(mmap(place, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
             place);
    place[100] = 2;
}

int main(void)
{
    place = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    room = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    RB_CHECK(place != MAP_FAILED && room != MAP_FAILED);
    return rb_both(first, second);
}
