/* Address space by terabytes comes and goes as quickly as without us; the lock beside it orders nothing if it
 * is not taken. */
#include "../order.h"
#include <sys/mman.h>

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void comes_and_goes(void)
{
    for (int i = 0; i < 100; i++) {
        void *map = mmap(NULL, 1ul << 43, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        RB_CHECK(map != MAP_FAILED && munmap(map, 1ul << 43) == 0);
    }
}

static void first(void)
{
    pthread_mutex_lock(&mutex);
    data = 1; /* RACE 1 */
    pthread_mutex_unlock(&mutex);
    comes_and_goes();
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    comes_and_goes();
    data = 2; /* RACE 2 */
}

int main(void)
{
    return rb_both(first, second);
}
