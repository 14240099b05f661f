/* The program executes itself, and the new image does not race. */
#include "../order.h"
#include <string.h>

int data;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void first(void)
{
    pthread_mutex_lock(&mutex);
    data = 1;
    pthread_mutex_unlock(&mutex);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    pthread_mutex_lock(&mutex);
    data = 2;
    pthread_mutex_unlock(&mutex);
}

static void idle(void)
{
    rb_reach(1);
    rb_await(2);
}

int main(int count, char **arguments)
{
    if (count == 1) {
        char *again[] = {arguments[0], "again", NULL};

        rb_start(idle);
        rb_await(1);
        execv("/proc/self/exe", again);
        return 3;
    }
    return rb_both(first, second);
}
