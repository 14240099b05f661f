/* Memory that could not be unmapped is as it was, with the lock in it. */
#include "../order.h"
#include <errno.h>
#include <sys/mman.h>

int data;
static char *map;

static void first(void)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)(void *)map;

    pthread_mutex_lock(lock);
    data = 1;
    pthread_mutex_unlock(lock);
    RB_CHECK(munmap(map + 1, 4096) == -1 && errno == EINVAL);
    RB_CHECK(munmap(map, 0) == -1 && errno == EINVAL);
    RB_CHECK(munmap(map, 1ul << 62) == -1 && errno == EINVAL);
    rb_reach(1);
}

static void second(void)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)(void *)map;

    rb_await(1);
    pthread_mutex_lock(lock);
    data = 2;
    pthread_mutex_unlock(lock);
}

int main(void)
{
    map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    RB_CHECK(map != MAP_FAILED);
    return rb_both(first, second);
}
