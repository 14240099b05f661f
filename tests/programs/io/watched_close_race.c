/* A write behind a close that inotify tells of. */
#include "../order.h"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/inotify.h>

struct {
    int x RB_APART;
} data[1];
static int file, watch;
static char name[] = "watched_XXXXXX";

static void set_up(void)
{
    file = mkstemp(name);
    watch = inotify_init();
    RB_CHECK(file >= 0 && watch >= 0 && inotify_add_watch(watch, name, IN_CLOSE_WRITE) >= 0);
}

static void first(void)
{
    data[0].x = 1;
    RB_CHECK(close(file) == 0);
    data[0].x = 3; /* RACE 1 */
    rb_reach(1);
}

static void second(void)
{
    char events[400];
    RB_CHECK(read(watch, events, sizeof(events)) > 0);
    rb_await(1);
    data[0].x = 2; /* RACE 2 */
    unlink(name);
}

int main(void)
{
    set_up();
    pthread_t a = rb_start(first), b = rb_start(second);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return rb_done();
}
