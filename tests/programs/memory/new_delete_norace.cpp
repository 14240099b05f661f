/* Objects are deleted after another thread's last use of them: ordered by a mutex. */
#include "../order.h"

RB_APART long *one, *several;
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void first()
{
    pthread_mutex_lock(&mutex);
    *one = 1;
    several[7] = 1;
    pthread_mutex_unlock(&mutex);
    rb_reach(1);
}

static void second()
{
    rb_await(1);
    pthread_mutex_lock(&mutex);
    delete one;
    delete[] several;
    pthread_mutex_unlock(&mutex);
    rb_escape(&one);
}

int main()
{
    one = new long(0);
    several = new long[8]();
    return rb_both(first, second);
}
