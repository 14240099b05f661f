/* A folder as a lock, and a write behind its removal. */
#include "../order.h"
#include <sys/stat.h>

char name[] = "/tmp/railbird-names-XXXXXX", lock[64];
int data;

static void take(void)
{
    while (mkdir(lock, 0700))
        usleep(500);
}

static void first(void)
{
    take();
    RB_CHECK(rmdir(lock) == 0);
    data = 1; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    take();
    data = 2; /* RACE 2 */
    RB_CHECK(rmdir(lock) == 0);
}

int main(void)
{
    RB_CHECK(mkdtemp(name) != NULL);
    snprintf(lock, sizeof(lock), "%s/lock", name);
    pthread_t a = rb_start(first), b = rb_start(second);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    rmdir(name);
    return rb_done();
}
