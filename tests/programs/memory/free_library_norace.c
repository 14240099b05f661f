/* A library that is not instrumented frees what the program has read before: ordered by a mutex. */
#include "../order.h"
#include <netdb.h>

struct addrinfo *list;
int family;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void first(void)
{
    pthread_mutex_lock(&mutex);
    family = list->ai_family;
    pthread_mutex_unlock(&mutex);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    pthread_mutex_lock(&mutex);
    freeaddrinfo(list);
    pthread_mutex_unlock(&mutex);
}

int main(void)
{
    const struct addrinfo wanted = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};

    RB_CHECK(getaddrinfo("127.0.0.1", "80", &wanted, &list) == 0);
    return rb_both(first, second);
}
