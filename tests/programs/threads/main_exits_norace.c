/* main ends by pthread_exit; the thread that goes on joins it. */
#include "../order.h"

int data;
pthread_t main_thread;

static void child(void)
{
    char path[4096];

    rb_await(1);
    pthread_join(main_thread, NULL);
    for (int i = 0; i < 1000 && readlink("/proc/self/exe", path, sizeof(path)) >= 0; i++)
        usleep(500);
    data = 2;
    exit(rb_done());
}

int main(void)
{
    main_thread = pthread_self();
    rb_start(child);
    data = 1;
    rb_reach(1);
    pthread_exit(NULL);
}
