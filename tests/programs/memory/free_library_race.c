/* libc frees what the program has read before, and nothing orders the two: freeing is a write. */
#include "../order.h"
#include <netdb.h>

struct addrinfo *list;
int family;

static void first(void)
{
    family = list->ai_family; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    freeaddrinfo(list); /* RACE 2 */
}

int main(void)
{
    const struct addrinfo wanted = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};

    RB_CHECK(getaddrinfo("127.0.0.1", "80", &wanted, &list) == 0);
    return rb_both(first, second);
}
