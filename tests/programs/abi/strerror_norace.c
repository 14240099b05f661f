/* Text of an error in a buffer that two threads use, one after the other. */
#include "../order.h"
#include <errno.h>
#include <string.h>

char text[200];
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void first(void)
{
    pthread_mutex_lock(&mutex);
    strerror_r(-12345, text, sizeof(text));
    pthread_mutex_unlock(&mutex);
    rb_reach(1);
}

static void second(void)
{
    rb_await(1);
    pthread_mutex_lock(&mutex);
    rb_use(strerror_r(-12345, text, sizeof(text)));
    pthread_mutex_unlock(&mutex);
}

int main(void)
{
    return rb_both(first, second);
}
